// SPDX-License-Identifier: MIT
// What a site gives to pages of others, seen in such a page: node embed.mjs SITE SCREENSHOTS. Prints a line of JSON for
// each step, {"name", "ok", "why"}; exits with 1 where one failed. The page of others is on another port of the loopback.
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [folder, shots] = process.argv.slice(2);
const axe = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
const kinds = { ".html": "text/html", ".svg": "image/svg+xml", ".css": "text/css", ".js": "text/javascript" };
mkdirSync(shots, { recursive: true });

async function serve(answer) {
  const server = createServer(answer);
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return [server, `http://127.0.0.1:${server.address().port}/`];
}
const [site, address] = await serve((request, answer) => {
  const file = path.join(folder, path.normalize(new URL(request.url, "http://x").pathname));
  try {
    answer.writeHead(200, { "content-type": kinds[path.extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  } catch {
    answer.writeHead(404).end();
  }
});
let letter = "";
const [others, there] = await serve((_request, answer) => answer.writeHead(200, { "content-type": "text/html" })
  .end(`<!DOCTYPE html><html lang="en"><title>others</title><h1>Others</h1>${letter}`));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
let failed = 0;
async function step(name, act, options = {}) {
  const wrong = [];
  const context = await browser.newContext({ viewport: { width: 800, height: 700 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.on("console", (said) => said.type() === "error" && wrong.push(`console: ${said.text()}`));
  page.on("request", (request) => [address, there, "data:"].some((each) => request.url().startsWith(each)) || wrong.push(`asks ${request.url()}`));
  try {
    await act(page, (truth, why) => truth || wrong.push(why));
    await page.screenshot({ path: path.join(shots, `embed-${name.replaceAll(/\W+/g, "-")}.png`) });
  } catch (error) {
    wrong.push(String(error.message).split("\n")[0]);
  }
  await context.close();
  failed += wrong.length ? 1 : 0;
  console.log(JSON.stringify({ name, ok: !wrong.length, why: wrong.join("; ") }));
}

/** The two snippets of a feature's page, as somebody would copy them. */
let image = "";
let frame = "";
await step("snippets", async (page, expect) => {
  await page.goto(`${address}feature/user_chains.html`);
  await page.waitForSelector("html[data-ready]");
  [image, frame] = await page.locator("[data-address]").allTextContents();
  expect(image.includes(`src="${address}embed/user_chains.svg"`), `the image is at ${image}`);
  expect(frame.includes(`src="${address}embed/user_chains.html"`), `the frame is at ${frame}`);
  const drawn = await page.locator("img.embed").evaluate((each) => (each.scrollIntoView(), each.decode().then(() => each.naturalWidth)));
  expect(drawn > 300, `the image is ${drawn} pixels wide`);
});

const seen = async (page, expect) => {
  letter = `${image}<p>${frame}</p>`;
  await page.goto(there);
  expect((await page.locator("img").evaluate((each) => each.decode().then(() => each.naturalWidth))) > 300, "no image");
  const inner = page.frameLocator("iframe");
  expect((await inner.locator("td.c").count()) > 5, "no cells in the frame");
  expect((await inner.locator("h1").textContent()).length > 5, "no title in the frame");
  const high = await page.frames()[1].evaluate(() => document.documentElement.scrollHeight - innerHeight);
  expect(high <= 0, `the frame is ${high} pixels too low`);
};
await step("light", seen);
await step("dark", seen, { colorScheme: "dark" });
await step("the frame leads to the site", async (page, expect) => {
  letter = frame;
  await page.goto(there);
  const opened = page.waitForEvent("popup");
  await page.frameLocator("iframe").locator("h1 a").click();
  const popup = await opened;
  await popup.waitForSelector("html[data-ready]");
  expect(popup.url() === `${address}feature/user_chains.html`, `it leads to ${popup.url()}`);
});
await step("axe, and 320 pixels", async (page, expect) => {
  await page.goto(`${address}embed/user_chains.html`);
  await page.evaluate(axe).catch(() => undefined);
  const found = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }));
  expect(!found.violations.length, found.violations.map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 100)}`).join("; "));
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(over <= 0, `the page is ${over} pixels too wide`);
}, { viewport: { width: 320, height: 600 }, bypassCSP: true });
await browser.close();
site.close();
others.close();
process.exit(failed ? 1 : 0);

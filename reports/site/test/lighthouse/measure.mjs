// SPDX-License-Identifier: MIT
// How fast and how accessible the pages of a site are, as Lighthouse tells it of a phone in the middle of the market:
// node measure.mjs SITE. Prints a line of JSON for each page, {"name", "ok", "why", ...}; exits with 1 where a page is
// below LEAST. The CPU of a machine that does other things is slower, never faster: each page has TRIES, the best counts.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { gzipSync } from "node:zlib";
import * as launcher from "chrome-launcher";
import lighthouse from "lighthouse";
import puppeteer from "puppeteer-core";

const [folder] = process.argv.slice(2);
const LEAST = 95;
const TRIES = 3;
const NODES = 10000;
const MOST = 1000; // milliseconds until a page can be used
const SLOWER = 4;
const kinds = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const packed = new Map();

/** As a web server of today: compressed, with a time to keep. */
const server = createServer((request, answer) => {
  const file = path.join(folder, path.normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)));
  const kind = kinds[path.extname(file)];
  if (!existsSync(file)) return void answer.writeHead(404).end();
  if (!kind) return void createReadStream(file).pipe(answer);
  if (!packed.has(file)) packed.set(file, gzipSync(readFileSync(file)));
  answer.writeHead(200, { "content-type": kind, "content-encoding": "gzip", "cache-control": "max-age=31536000" }).end(packed.get(file));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const address = `http://127.0.0.1:${server.address().port}/`;

const of = (file) => JSON.parse(readFileSync(path.join(folder, file), "utf8").replace(/^window\.[A-Z_]+=/, "").replace(/;\s*$/, ""));
const data = of("data.js");
const points = of("points.js");
const largest = data.areas.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
const area = `area/${largest}.html`;
const pages = ["index.html", "feature/user_chains.html", area, `point/${points.find((each) => each[1] === largest)[7]}`, data.spots[0].page];

const chrome = await launcher.launch({
  chromePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  chromeFlags: ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  logLevel: "silent",
});
let failed = 0;
function say(name, wrong, more) {
  failed += wrong.length ? 1 : 0;
  console.log(JSON.stringify({ name, ok: !wrong.length, why: wrong.join("; "), ...more }));
}

const CATEGORIES = ["performance", "accessibility", "best-practices"];
for (const page of pages) {
  const best = {};
  let why = [];
  let times = {};
  for (let at = 0; at < TRIES && CATEGORIES.some((each) => (best[each] ?? 0) < LEAST); at += 1) {
    const { lhr } = await lighthouse(address + page, { port: chrome.port, onlyCategories: CATEGORIES, logLevel: "silent" });
    const scores = Object.fromEntries(CATEGORIES.map((each) => [each, Math.round((lhr.categories[each].score ?? 0) * 100)]));
    if (scores.performance > (best.performance ?? -1)) {
      why = Object.values(lhr.audits).filter((each) => each.score !== null && each.score < 0.9).map((each) => each.id);
      times = Object.fromEntries(["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift", "speed-index"]
        .map((each) => [each, Math.round(lhr.audits[each].numericValue * 1000) / 1000]));
    }
    for (const each of CATEGORIES) best[each] = Math.max(best[each] ?? 0, scores[each]);
  }
  const low = CATEGORIES.filter((each) => best[each] < LEAST);
  say(page, low.map((each) => `${each} ${best[each]}`).concat(low.length ? why : []), { ...best, ...times, kernels: data.kernels });
}

// An area has a table of its points by all kernels: how long until it can be used, and how much there is in the page.
const browser = await puppeteer.connect({ browserURL: `http://127.0.0.1:${chrome.port}` });
for (const persona of data.personas) {
  let ready = Infinity;
  let nodes = 0;
  for (let at = 0; at < TRIES && ready > MOST; at += 1) {
    const page = await browser.newPage();
    await page.setViewport({ width: 412, height: 823, isMobile: true, hasTouch: true, deviceScaleFactor: 1.75 });
    await page.emulateCPUThrottling(SLOWER);
    await page.goto(`${address}${area}#p=${persona}`);
    await page.waitForSelector("html[data-ready]", { timeout: 60000 });
    ready = Math.min(ready, Number(await page.$eval("html", (root) => root.dataset.ready)));
    nodes = await page.$$eval("*", (all) => all.length);
    await page.close();
  }
  const wrong = [];
  if (ready > MOST) wrong.push(`usable after ${ready} ms`);
  if (nodes > NODES) wrong.push(`${nodes} nodes`);
  say(`${area} as ${persona}, CPU ${SLOWER} times slower`, wrong, { ready, nodes });
}
await browser.disconnect();
chrome.kill();
server.close();
process.exit(failed ? 1 : 0);

// SPDX-License-Identifier: MIT
// Walks through a site in a real browser: node walk.mjs SITE SCREENSHOTS. Prints a line of JSON for each
// step, {"name", "ok", "why"}; exits with 1 when one failed. Sites are opened from disk and, with a
// third argument, from a server on that port of the loopback.
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [folder, shots] = process.argv.slice(2);
const axe = readFileSync(path.join("node_modules/axe-core/axe.min.js"), "utf8");
const files = (of) => readdirSync(path.join(folder, of)).sort();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
let failed = 0;
mkdirSync(shots, { recursive: true });

/** One step: a page of its own, no request elsewhere, nothing in the console. */
async function step(name, where, act, options = {}) {
  const wrong = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.on("request", (request) => {
    if (!/^(file:|data:|http:\/\/127\.0\.0\.1[:/])/.test(request.url())) wrong.push(`asks ${request.url()}`);
  });
  page.on("console", (said) => ["error", "warning"].includes(said.type()) && wrong.push(`console: ${said.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  try {
    await page.goto(where.startsWith("http") ? where : `file://${folder}/${where}`);
    if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
    await act?.(page, (truth, why) => truth || wrong.push(why));
    await page.screenshot({ path: path.join(shots, `${name.replaceAll(/\W+/g, "-")}.png`) });
  } catch (error) {
    wrong.push(String(error.message).split("\n")[0]);
  }
  await context.close();
  failed += wrong.length ? 1 : 0;
  console.log(JSON.stringify({ name, ok: wrong.length === 0, why: wrong.join("; ") }));
}

/** What axe finds. */
async function accessible(page, expect) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"], preload: false }));
  const bad = found.violations;
  expect(!bad.length, bad.map((each) => `axe: ${each.id}: ${each.nodes[0].html.slice(0, 120)}`).join("; "));
}

const of_file = (name) => JSON.parse(readFileSync(name, "utf8"));
/** What a script of the site sets. */
const of = (file) => JSON.parse(readFileSync(path.join(folder, file), "utf8").replace(/^window\.[A-Z_]+=/, "").replace(/;\s*$/, ""));
const data = { ...of("data.js"), points: of("points.js") };
/** A sign for each point, as a persona; of each kernel. */
const signs = (who) => {
  const rows = data.areas.flatMap(([area]) => of(`data/area/${area}.${who}.js`));
  return data.spots.map((_spot, at) => rows.map((row) => row[at]));
};
const told = (number) => data.points[number][0];
const widest = data.spots.reduce((best, spot, at) => (Object.keys(spot.personas).length > Object.keys(data.spots[best].personas).length ? at : best), 0);
const spot = data.spots[widest];
const area = data.points[0][1];
const asked = Object.keys(spot.personas);
const usual = data.personas.includes("user") ? "user" : data.personas[0];
/** Types into the search, and waits for what it finds. */
async function type(page, words) {
  await page.fill("#q", words);
  await page.waitForSelector("#hits[aria-busy=false]", { state: "attached" });
}
const hits = (page) => page.locator("#hits li").count();
const count = async (page) => Number((await page.textContent("#found")).match(/^\d+/)?.[0] ?? -1);

await step("search", "index.html", async (page, expect) => {
  await type(page, told(0));
  expect((await page.locator("#hits li a").first().textContent()) === told(0), "the point is not the first hit");
  const word = await page.locator("#hits li .v").first().textContent();
  expect(["yes", "no", "broken", "blocked", "absent", "hazard", "unknown", "not asked", "mixed"].includes(word), `says '${word}'`);
  await type(page, "zzzzqqq");
  expect((await hits(page)) === 0 && (await page.textContent("#said")).startsWith("No features and no points"), "finds what is not there");
  await type(page, "eacces");
  await type(page, told(0).split(".").slice(1).join(" "));
  expect((await hits(page)) > 0, "words of a name find nothing");
  expect(page.url().includes("q="), "the address does not keep the search");
});

// What people type, and the feature they mean: it is among the first three.
const TYPED = {
  page_faults: ["page faults", "minflt"], cpu_samples: ["cpu profile", "flame graph", "async-profiler"],
  user_chains: ["call graph", "backtrace", "PERF_SAMPLE_CALLCHAIN", "call stack"], stack_copy: ["dwarf"],
  watchpoint: ["watchpoint", "hardware breakpoint", "debug register"], branch_stacks: ["LBR", "last branch record"],
  precise: ["PEBS", "IBS", "skid"], switch_records: ["offcpu", "PERF_RECORD_SWITCH"], cgroup: ["container", "docker"],
  bpf_samples: ["PERF_EVENT_IOC_SET_BPF", "parca-agent"], other_process: ["profile another process", "perf record -p"],
  whole_system: ["system wide", "perf top"], clockid: ["CLOCK_MONOTONIC", "timestamp", "which kernels stamp with CLOCK_MONOTONIC?"],
  aux: ["Intel PT", "CoreSight"], rdpmc: ["rdpmc"], ebb: ["event-based branches"], energy: ["RAPL"],
  shared_ring: ["SET_OUTPUT"], sigtrap: ["sigtrap"], multiplexing: ["multiplexing"], memory_access: ["data_src", "perf c2c"],
  kprobes: ["kprobe"], uprobes: ["uprobe", "USDT"], lost: ["dropped samples"], overwrite: ["flight recorder"],
  hardware_counters: ["IPC"], groups: ["PERF_FORMAT_GROUP"], signals: ["SIGIO"], inherit: ["child processes"],
};
await step("what people type", "index.html", async (page, expect) => {
  for (const [id, typed] of Object.entries(TYPED)) {
    for (const words of typed) {
      await type(page, words);
      const found = await page.locator("#hits li a").evaluateAll((links) => links.slice(0, 3).map((link) => link.getAttribute("href")));
      expect(found.includes(`feature/${id}.html`), `'${words}' finds ${found.join(", ")}, not ${id}`);
    }
  }
});

// A hundred more, written down before anybody looked what is found: 95 of 100 must be.
await step("words and phrases", "index.html", async (page, expect) => {
  const all = Object.entries(of_file("typed.json")).flatMap(([id, phrases]) => phrases.map((words) => [id, words]));
  const missed = [];
  for (const [id, words] of all) {
    await type(page, words);
    const found = await page.locator("#hits li a").evaluateAll((links) => links.slice(0, 3).map((link) => link.getAttribute("href")));
    if (!found.includes(`feature/${id}.html`)) missed.push(`'${words}' finds ${found.join(", ")}, not ${id}`);
  }
  console.error(`words and phrases: ${all.length - missed.length} of ${all.length}; ${missed.join("; ")}`);
  expect(all.length >= 100 && missed.length * 20 <= all.length, missed.join("; "));
});

// Systems, by the names that people use, misspelt as well; what is left of a question is searched.
const NAMED = {
  "debian-12": ["Debian 12", "debian bookworm", "bookworm", "debain 12"], "ubuntu-22.04": ["Ubuntu 22.04", "jammy", "ubunut 22.04"],
  "rhel-9": ["RHEL 9", "rocky linux 9", "alma 9", "centos stream 9"], "raspberry-pi-os": ["raspberry pi", "raspbian"], wsl2: ["wsl", "WSL2"],
};
await step("systems by name", "index.html", async (page, expect) => {
  const known = new Set(of("wanted.js").systems.map(({ name }) => name));
  for (const [name, typed] of Object.entries(NAMED).filter(([each]) => known.has(each))) {
    for (const words of typed) {
      await type(page, words);
      expect((await page.inputValue("#spot")) === name, `'${words}' is taken for ${await page.inputValue("#spot")}`);
      expect((await page.locator("#hits li a").first().getAttribute("href")) === `system/${name}.html`, `'${words}' does not find ${name}`);
      await type(page, `call chains ${words}`);
      expect((await page.locator("#hits li a").first().getAttribute("href")) === "feature/user_chains.html", `'call chains ${words}' finds no call chains`);
    }
  }
  await type(page, "cycles");       // what names a system chooses it
  await page.selectOption("#spot", spot.id);
  await type(page, "double");
  expect((await page.inputValue("#spot")) === spot.id, "'double' is taken for noble");
});

await step("search deep link", `index.html#q=${told(0)}&k=${spot.id}&p=${asked.at(-1)}`, async (page, expect) => {
  expect((await hits(page)) > 0, "a link with a search shows nothing");
  expect((await page.inputValue("#who")) === asked.at(-1), "the persona of the link is not taken");
  expect((await page.textContent("#said")).includes(spot.name), "the kernel of the link is not taken");
});

await step("filter", "explore.html", async (page, expect) => {
  const all = await count(page);
  await page.selectOption("[name=area]", area);
  const some = await count(page);
  expect(some > 0 && some < all, `an area leaves ${some} of ${all}`);
  await page.fill("#filters [name=q]", told(0).split(".").at(-1));
  expect((await count(page)) >= 1, "a text within the area finds nothing");
  await page.fill("#filters [name=q]", "");
  for (const name of ["lies", "upstream", "varies"]) {
    await page.check(`[name=${name}]`);
    expect((await count(page)) <= some, `${name} does not narrow`);
    await page.uncheck(`[name=${name}]`);
  }
  await page.selectOption("[name=verdict]", "yes");
  expect((await count(page)) <= some, "a verdict does not narrow");
});

await step("filter deep link", `explore.html#area=${area}&verdict=yes`, async (page, expect) => {
  expect((await page.inputValue("[name=area]")) === area, "the area of the link is not taken");
  const before = await count(page);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  expect((await count(page)) === before, "the same link shows something else");
});

await step("what nobody could answer is hidden", "explore.html", async (page, expect) => {
  const some = await count(page);
  const of = signs(usual);
  const quiet = ["absent", "unknown"].map((word) => String(data.verdicts.indexOf(word)));
  const told = data.points.filter((_point, at) => of.some((each) => each[at] !== "-" && !quiet.includes(each[at]))).length;
  expect(some === told, `${some} points are shown, kernels answered ${told}`);
  await page.check("[name=silent]");
  expect((await count(page)) === data.points.length, "all points are not shown when asked for");
  await page.selectOption("[name=suite]", data.spots[0].suite);
  await page.selectOption("[name=pmu]", data.spots[0].pmu);
  expect(page.url().includes("suite=") && page.url().includes("pmu="), "the address does not keep the suite and the PMU");
});

await step("all points scroll", "explore.html#silent=1", async (page, expect) => {
  const rows = page.locator("#rows tbody tr:not(.gap)");
  expect((await rows.count()) < 200, "all rows are in the page at once");
  await page.evaluate(() => document.getElementById("rows").scrollTo(0, 1e7));
  await page.waitForFunction((last) => document.querySelector("#rows tbody")?.textContent.includes(last), told(data.points.length - 1));
});

await step("compare", "compare.html", async (page, expect) => {
  const whole = data.spots.map((_spot, at) => at).filter((at) => data.spots[at].personas[usual]).slice(0, 3);
  const of = signs(usual);
  for (const at of whole) await page.selectOption("[name=add]", String(at));
  const differing = data.points.filter((_point, number) =>
    new Set(whole.map((at) => of[at][number]).filter((sign) => sign !== "-")).size > 1).length;
  expect((await count(page)) === differing, `${await count(page)} transitions, the data has ${differing}`);
  const link = page.url();
  expect(link.includes("#c="), "the address does not keep the kernels");
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForSelector("html[data-ready]");
  expect((await count(page)) === differing, "the link shows something else");
  await page.locator("#columns button").first().click();
  expect((await page.locator("#columns li").count()) === whole.length - 1, "a kernel cannot be taken away");
});

await step("compare devices", "compare.html", async (page, expect) => {
  const ids = await page.evaluate(() => window.PERFMODES_DEVICES.map((each) => each.id));
  await page.selectOption("[name=add]", "0");
  for (const [at, id] of ids.slice(0, 2).entries()) {
    await page.selectOption("[name=device]", id);
    await page.waitForFunction((want) => document.querySelectorAll("#columns li").length === want, at + 2);
  }
  const shown = await count(page);
  expect(shown > 0, "devices that differ show nothing");
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("#columns li").length === 3);
  expect((await count(page)) === shown, "the link to devices shows something else");
  await page.selectOption("[name=show]", "all");
  expect((await page.locator("#rows thead a[href^='device/']").count()) === 2, "no columns of devices");
});

await step("persona switch", "index.html", async (page, expect) => {
  const other = data.personas.find((name) => name !== usual);
  expect((await page.inputValue("#who")) === usual && (await page.isVisible(`#${usual}`)), "it does not begin as a user");
  await page.click(`#${usual} .who a[href="#${other}"]`);
  expect((await page.isVisible(`#${other}`)) && !(await page.isVisible(`#${usual}`)), "one click does not show another persona");
  await page.goto(`file://${folder}/area/${area}.html`);
  expect((await page.inputValue("[name=p]")) === other, "the next page forgot it");
});

await step("point and history", `point/${data.points[0][7]}`, async (page, expect) => {
  expect((await page.textContent("h1")) === told(0), "another point");
  expect((await page.locator(".strip div").count()) > 0, "no history");
  const link = page.locator(".verdicts a[href^='#r']").first();
  await link.click();
  expect(await page.isVisible(`${await link.getAttribute("href")}`), "a verdict does not lead to its reason");
  await page.locator(".reason .small a").first().click();
  expect(page.url().includes("/result/"), "the evidence leads to no result");
});

await step("kernel", `kernel/${spot.id}.html`, async (page, expect) => {
  for (const kind of ["profile.json.xz", "csv.xz", "h.xz", "json.xz"]) {
    const link = page.locator(`dd a[href$='.${kind}']`).first();
    const file = path.resolve(folder, "kernel", await link.getAttribute("href"));
    expect(readFileSync(file).length > 0, `no ${kind} to download`);
  }
});
await step("device", `device/${files("device")[0]}`, async (page, expect) => {
  expect((await page.locator("#simulate ~ .wide tbody tr").count()) >= 10, "fewer than ten wishes");
  expect((await page.locator("table tbody tr").count()) > 0, "no result over time");
});
await step("plots", "plots.html", async (page, expect) => {
  expect((await page.locator("svg.picture").count()) > 1, "no picture");
  expect(await page.evaluate(() => typeof window.PERFMODES_PLOTS === "function"), "nothing that draws");
});

const looked = ["index.html", "programs.html", "defects.html", "areas.html", "feature/user_chains.html", `area/${area}.html`, `point/${data.points[0][7]}`, `kernel/${spot.id}.html`, "explore.html",
  `compare.html#c=${data.spots.slice(0, 2).map((each) => each.id).join(",")}`, "kernels.html", "devices.html",
  `device/${files("device")[0]}`, `result/${files("result")[0]}`, "plots.html", "about.html"];
for (const [name, pages, options] of [["light", looked, {}], ["dark", looked.slice(0, 9), { colorScheme: "dark" }]]) {
  for (const where of pages) await step(`${name} ${where.replace(/#.*/, "")}`, where, accessible, options);
}

await step("dark by hand", "index.html", async (page, expect) => {
  const light = await page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor);
  await page.click("#tools button");
  expect((await page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor)) !== light, "it stays light");
  await page.reload();
  expect((await page.getAttribute("html", "data-theme")) === "dark", "it is forgotten");
});

const systems = existsSync(path.join(folder, "system")) ? files("system").slice(0, 2).map((each) => `system/${each}`) : [];
for (const where of ["index.html", "programs.html", "defects.html", "areas.html", "feature/page_faults.html", `area/${area}.html`, `point/${data.points[0][7]}`, "explore.html", "compare.html",
  `kernel/${spot.id}.html`, "kernels.html", "devices.html", `device/${files("device")[0]}`, `result/${files("result")[0]}`, "plots.html", "about.html", ...systems]) {
  await step(`phone ${where}`, where, async (page, expect) => {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over <= 0, `the page is ${over} pixels too wide`);
    expect(await page.evaluate(() => document.fonts.size === 0), "a phone loads fonts");
    await accessible(page, expect);
  }, { viewport: { width: 375, height: 812 }, hasTouch: true, isMobile: true });
  await step(`320 pixels ${where}`, where, async (page, expect) => {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over <= 0, `the page is ${over} pixels too wide`);
  }, { viewport: { width: 320, height: 640 } });
}

await step("no JavaScript", "index.html", async (page, expect) => {
  expect((await page.locator("table.start td.c").count()) > 100, "no table of features");
  await page.click("table.start tbody th a");
  expect((await page.locator(".verdicts .v").count()) > 0, "no verdicts of a feature");
  await page.goto(`file://${folder}/areas.html`);
  expect((await page.locator("table.heat tbody tr").count()) >= new Set(data.points.map((point) => point[1])).size, "no overview");
  await page.click("table.heat tbody th a");
  expect((await page.locator("table.plain td.told").count()) > 0, "no table of an area");
  await page.click("table.plain tbody th a");
  expect((await page.locator(".verdicts .v").count()) > 0, "no verdicts of a point");
}, { javaScriptEnabled: false });

await step("keyboard only", "index.html", async (page, expect) => {
  await page.keyboard.press("Tab");
  expect((await page.evaluate(() => document.activeElement.className)) === "skip", "the first stop is not the way to the content");
  await page.keyboard.press("/");
  await page.keyboard.type(told(0));
  for (let stop = 0; stop < 12; stop += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.closest("#hits") !== null)) break;
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/point\//);
  expect((await page.textContent("h1")) === told(0), "Enter leads elsewhere");
});

await step("print", "index.html", async (page, expect) => {
  await page.emulateMedia({ media: "print" });
  expect(!(await page.isVisible("nav")), "the menu is printed");
});

const server = createServer((request, answer) => {
  try {
    const file = path.join(folder, decodeURIComponent(new URL(request.url, "http://x").pathname));
    const kinds = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
    answer.writeHead(200, { "content-type": kinds[path.extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  } catch {
    answer.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
await step("from a server", `http://127.0.0.1:${server.address().port}/index.html`, async (page, expect) => {
  await type(page, told(0));
  expect((await hits(page)) > 0, "search does not work from a server");
  console.log(JSON.stringify({ name: "milliseconds to interact", ok: true, why: await page.getAttribute("html", "data-ready") }));
});
server.close();
await browser.close();
process.exit(failed ? 1 : 0);

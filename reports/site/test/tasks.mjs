// SPDX-License-Identifier: MIT
// Twelve questions of somebody who knows perf and not this site, each answered from the start page by what is
// visible: node tasks.mjs SITE SCREENSHOTS. Prints a line of JSON for each, {"name", "ok", "why", "clicks",
// "seconds"}; exits with 1 where one has no answer, or takes more than three clicks. SITE is of the answers that ship.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [folder, shots] = process.argv.slice(2);
const MOST = 3;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
let failed = 0;
mkdirSync(shots, { recursive: true });

/** A person: reads what is visible, types, chooses, clicks. Choices count as clicks. */
class Person {
  constructor(page) {
    this.page = page;
    this.clicks = 0;
    this.page.setDefaultTimeout(30000);
  }

  async ready() {
    await this.page.waitForSelector("html[data-ready]");
  }

  async type(words) {
    await this.page.getByRole("searchbox").fill(words);
    await this.page.waitForSelector("#hits[aria-busy=false]", { state: "attached" });
  }

  async click(name, within = this.page) {
    this.clicks += 1;
    await within.getByRole("link", { name, exact: typeof name === "string" }).first().click();
    await this.ready();
  }

  async choose(label, text) {
    this.clicks += 1;
    const box = this.page.getByLabel(label);
    const value = await box.locator("option").evaluateAll((all, want) => all.find((each) => each.textContent.includes(want))?.value, text);
    await box.selectOption(value ?? "nothing of that name");
  }

  /** Whether a text is on the page, where it can be seen. */
  async sees(text, within = this.page) {
    await within.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** The row of a table, or an item of a list, that says both. */
  async row(...texts) {
    const rows = texts.reduce((found, text) => found.filter({ hasText: text }), this.page.locator("tr, #hits li"));
    await rows.filter({ visible: true }).first().waitFor();
    return rows.filter({ visible: true }).first();
  }
}

async function task(name, act) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const person = new Person(page);
  const began = performance.now();
  let why = "";
  try {
    await page.goto(`file://${folder}/index.html`);
    await person.ready();
    await act(person);
    if (person.clicks > MOST) why = `${person.clicks} clicks`;
  } catch (error) {
    why = String(error.message).split("\n").slice(0, 3).join(" ");
  }
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  await page.screenshot({ path: path.join(shots, `task-${name.replaceAll(/\W+/g, "-").slice(0, 60)}.png`) });
  await page.close();
  failed += why ? 1 : 0;
  console.log(JSON.stringify({ name, ok: !why, why, clicks: person.clicks, seconds }));
}

await task("may an ordinary user on Ubuntu 22.04 sample call chains?", async (person) => {
  await person.type("call chains Ubuntu 22.04");
  await person.row("sample call chains of user code", /yes|blocked|no/);
  await person.sees(/as user on Ubuntu 22\.04/);
});

await task("which kernels stamp with CLOCK_MONOTONIC?", async (person) => {
  await person.type("which kernels stamp with CLOCK_MONOTONIC?");
  await person.click(/clock/i, person.page.locator("#hits li").first());
  await person.sees("By kernel");
  await person.row("amd64-6.1", "yes");
});

await task("what breaks between 6.12 and 7.3 for user?", async (person) => {
  await person.click("Compare");
  await person.choose(/^Add a kernel/, "amd64-6.12 (6.12");
  await person.choose(/^Add a kernel/, "amd64-newest (7.3");
  await person.sees(/[0-9]+ of [0-9]+ points differ, as user/);
});

await task("why does bpftrace fail for a user?", async (person) => {
  await person.click("Programs");
  await person.click("bpftrace-profile");
  await person.row("amd64-6.1", "refused");
  person.clicks += 1;
  await person.page.locator("#bpftrace-profile ~ details summary").first().click();
  await person.sees(/perf_event_paranoid|CAP_PERFMON/, person.page.locator("details[open] li"));
});

await task("does a watchpoint work without root on 5.10?", async (person) => {
  await person.type("hardware breakpoint");
  await person.choose(/^on/, "amd64-5.10 (5.10");
  await person.row("watchpoint", /yes|no|blocked|broken/);
  await person.sees(/as user on amd64-5\.10/);
});

await task("at which level of perf_event_paranoid may a user profile the whole system?", async (person) => {
  await person.type("system wide");
  await person.click(/whole system|every process|all that runs/i, person.page.locator("#hits"));
  await person.sees("By level of perf_event_paranoid");
  await person.row("perf_event_paranoid=3", "blocked");
});

await task("how is a CPU profile opened in C?", async (person) => {
  await person.type("cpu profile");
  await person.click(/.+/, person.page.locator("#hits li").first());
  await person.sees("struct perf_event_attr attr");
});

await task("since which release is there remove_on_exec?", async (person) => {
  await person.type("remove_on_exec");
  await person.row("remove_on_exec", "since 5.13");
});

await task("what may root do that a user may not?", async (person) => {
  await person.sees("Asked as user");
  await person.click("root", person.page.locator("#user .who"));
  await person.sees("Asked as root");
});

await task("what is wrong on arm64 6.1?", async (person) => {
  await person.click("Kernels");
  await person.click("arm64-6.1");
  await person.sees("Opens but lies");
});

await task("which line of which run says so?", async (person) => {
  await person.type("ring.write_backward.newest_first");
  await person.click("ring.write_backward.newest_first", person.page.locator("#hits"));
  await person.click("yes");
  await person.sees(/answers?, such as/);
});

await task("why does nothing work for a user on Debian 12?", async (person) => {
  await person.click("Debian 12 (bookworm)");
  await person.row("count page faults", "blocked", "perf_event_paranoid");
});

await browser.close();
process.exit(failed ? 1 : 0);

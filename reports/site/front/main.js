// SPDX-License-Identifier: MIT
// Starts what a page has: search, all points, compare, plots; persona and theme on every page.
import { compare } from "./compare.js";
import { explore } from "./explore.js";
import { personas, theme } from "./frame.js";
import { plots } from "./plots.js";
import { search } from "./search.js";

const pages = { search, explore, compare, plots };
const page = document.body.dataset.page;

theme();
personas();
pages[page]?.(window.PERFMODES);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const box = document.querySelector("input[type=search]");
  if (box) box.focus();
  else location.href = `${document.body.dataset.up}index.html#q=`;
});
document.documentElement.dataset.ready = String(Math.round(performance.now()));

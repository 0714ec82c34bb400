// SPDX-License-Identifier: MIT
// Starts what a page has: search, all points, compare, plots; persona and theme on every page.
import { area } from "./area.js";
import { compare } from "./compare.js";
import { explore } from "./explore.js";
import { address, personas, theme } from "./frame.js";
import { search } from "./search.js";

// Plots are drawn by a package of their own, which no other page loads.
const pages = { search, explore, compare, area, plots: (data) => window.PERFMODES_PLOTS?.(data) };
const page = document.body.dataset.page;

theme();
personas();
address();
const data = window.PERFMODES;
if (data && window.PERFMODES_POINTS) data.points = window.PERFMODES_POINTS;
if (data) data.cells = {};
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const box = document.querySelector("input[type=search]");
  if (box) box.focus();
  else location.href = `${document.body.dataset.up}index.html#q=`;
});
Promise.resolve(pages[page]?.(data)).then(() => {
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});

// SPDX-License-Identifier: MIT
// The answers: files by area and persona, each loaded when it is first needed.
import { make } from "./frame.js";

const asked = new Map();

/** Runs a script of the site and gives back what it set; undefined where it is not there. Several may be under way:
    each says that it is loaded before the next one runs. */
export async function take(src, name) {
  const script = make("script", "", { src: document.body.dataset.up + src });
  const found = await new Promise((ended) => {
    script.addEventListener("load", () => ended(window[name]));
    script.addEventListener("error", () => ended(undefined));
    document.head.append(script);
  });
  script.remove();
  return found;
}

/** The number of the first point of an area. */
export function first(data, area) {
  const at = data.areas.findIndex(([name]) => name === area);
  return data.areas.slice(0, at).reduce((sum, [, points]) => sum + points, 0);
}

/** Loads what a persona is told in some areas; all of them where none is named. */
export async function load(data, who, areas = data.areas.map(([name]) => name)) {
  const cells = (data.cells[who] ??= []);
  const one = async (area) => {
    const rows = (await take(`data/area/${area}.${who}.js`, "PERFMODES_CELLS")) ?? [];
    for (const [at, row] of rows.entries()) cells[first(data, area) + at] = row;
  };
  await Promise.all(areas.map((area) => {
    const key = `${area}.${who}`;
    if (!asked.has(key)) asked.set(key, one(area));
    return asked.get(key);
  }));
}

/** The verdict on a point (a number) on a column (a number), as a persona; "" where nobody asked. */
export function told(data, who, at, number) {
  const sign = at < data.kernels ? data.cells[who]?.[number]?.[at] : data.spots[at].cells[who]?.[number];
  if (sign === data.mixed) return "mixed";
  return sign === undefined || sign === data.silent ? "" : data.verdicts[Number(sign)];
}

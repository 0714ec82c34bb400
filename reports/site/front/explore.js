// SPDX-License-Identifier: MIT
// All points, filtered. Every filter stands in the address.
import { load, told } from "./cells.js";
import { differs, fill, keep, persona, remember, state } from "./frame.js";
import { Rows } from "./rows.js";

const QUIET = ["absent", "unknown"];    // nobody could tell: hidden unless asked for
const unique = (values) => [...new Set(values)].sort();
const pairs = (values) => [["", "any"], ...values.map((value) => [value, value])];

function fits(point, words) {
  const said = `${point[0]} ${point[2]} ${point[3]} ${point[6]}`.toLowerCase();
  return words.every((word) => said.includes(word));
}

function spotsOf(data, wanted) {
  return data.spots.map((_spot, at) => at).filter((at) => {
    const spot = data.spots[at];
    return spot.personas[wanted.p] && ["arch", "kind", "level", "suite", "pmu"].every((key) => !wanted[key] || spot[key] === wanted[key]);
  });
}

/** The numbers of the points that fit; a verdict must be that of one of the kernels shown. */
export function filtered(data, wanted, spots) {
  const typed = (wanted.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return data.points.map((_point, number) => number).filter((number) => {
    const point = data.points[number];
    if ((wanted.area && point[1] !== wanted.area) || !fits(point, typed)) return false;
    const words = spots.map((at) => told(data, wanted.p, at, number));
    if (!words.some(Boolean)) return false;
    if (!wanted.silent && !wanted.verdict && words.every((word) => !word || QUIET.includes(word))) return false;
    if (wanted.verdict && !words.includes(wanted.verdict)) return false;
    if (wanted.lies && !words.includes("broken")) return false;
    if (wanted.upstream && !words.some((word, at) => differs(point, data.spots[spots[at]], word))) return false;
    return !wanted.varies || new Set(words.filter((word) => ["yes", "no", "broken", "hazard"].includes(word))).size > 1;
  });
}

export async function explore(data) {
  const form = document.getElementById("filters");
  const rows = new Rows(document.getElementById("rows"));
  const field = (name) => form.elements.namedItem(name);
  const spread = (said) => {
    fill(field("area"), pairs(unique(data.points.map((point) => point[1]))), said.area ?? "");
    fill(field("verdict"), pairs([...data.verdicts, "mixed"]), said.verdict ?? "");
    for (const key of ["arch", "kind", "level", "suite", "pmu"]) {
      fill(field(key), pairs(unique(data.spots.map((spot) => spot[key]).filter(Boolean))), said[key] ?? "");
    }
    fill(field("p"), data.personas.map((name) => [name, name]), persona(data));
    field("q").value = said.q ?? "";
    for (const name of ["lies", "upstream", "varies", "silent"]) field(name).checked = said[name] === "1";
  };
  const show = async () => {
    const wanted = Object.fromEntries([...form.elements].filter((each) => each.name).map((each) =>
      [each.name, each.type === "checkbox" ? (each.checked ? "1" : "") : each.value]));
    remember(wanted.p);
    keep(wanted);
    await load(data, wanted.p);
    if (wanted.p !== field("p").value) return;      // another was chosen meanwhile
    const spots = spotsOf(data, wanted);
    const points = filtered(data, wanted, spots);
    rows.show(data, points, spots, wanted.p);
    document.getElementById("found").textContent = `${points.length} of ${data.points.length} points, ${spots.length} kernels, as ${wanted.p}`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    spread(state());
    show();
  });
  document.getElementById("explore").hidden = false;
  spread(state());
  await show();
}

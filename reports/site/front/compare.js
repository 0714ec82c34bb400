// SPDX-License-Identifier: MIT
// Kernels side by side: only the points in which they differ.
import { fill, keep, make, persona, remember, state, verdict } from "./frame.js";
import { Rows } from "./rows.js";

const TOLD = ["yes", "no", "broken", "hazard"];

/** The numbers of the points that change between these columns. */
export function transitions(data, spots, who, show) {
  return data.points.map((_point, number) => number).filter((number) => {
    const words = spots.map((at) => verdict(data, data.cells[who][at]?.[number])).filter(Boolean);
    if (show === "all") return words.length > 0;
    const counted = show === "told" ? words.filter((word) => TOLD.includes(word)) : words;
    return new Set(counted).size > 1;
  });
}

export function compare(data) {
  const form = document.getElementById("chosen");
  const list = document.getElementById("columns");
  const rows = new Rows(document.getElementById("rows"));
  const asked = state();
  const [add, who, what] = ["add", "p", "show"].map((name) => form.elements.namedItem(name));
  const number = (id) => data.spots.findIndex((spot) => spot.id === id);
  let chosen = (asked.c ?? "").split(",").map(number).filter((at) => at >= 0);
  fill(who, data.personas.map((name) => [name, name]), persona(data));
  what.value = asked.show ?? "";

  const picked = () => chosen.map((at) => {
    const row = make("li");
    const button = make("button", `${data.spots[at].name} ×`, { type: "button", "aria-label": `Remove ${data.spots[at].name}` });
    button.addEventListener("click", () => {
      chosen = chosen.filter((other) => other !== at);
      show();
      add.focus();
    });
    row.append(button);
    return row;
  });
  const show = () => {
    remember(who.value);
    keep({ c: chosen.map((at) => data.spots[at].id).join(","), p: who.value, show: what.value });
    fill(add, [["", "choose…"], ...data.spots.map((spot, at) => [String(at), `${spot.name} (${spot.release}, ${spot.kind})`])
      .filter(([at]) => !chosen.includes(Number(at)))], "");
    list.replaceChildren(...picked());
    const points = chosen.length > 1 ? transitions(data, chosen, who.value, what.value) : [];
    rows.show(data, points, chosen, who.value);
    document.getElementById("found").textContent = chosen.length < 2 ? "Choose at least two kernels." :
      `${points.length} of ${data.points.length} points ${what.value === "all" ? "were asked" : "differ"}, as ${who.value}`;
  };
  form.addEventListener("input", (event) => {
    if (event.target === add && add.value) chosen.push(Number(add.value));
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("compare").hidden = false;
  show();
}

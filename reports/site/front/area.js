// SPDX-License-Identifier: MIT
// The points of an area by kernel, as one persona: of the table only what is in view is in the page.
import { first, load, told } from "./cells.js";
import { fill, keep, make, persona, remember, state } from "./frame.js";
import { Rows } from "./rows.js";

/** The points that the page lists, as the others pages have them: key, area, meaning, ..., page. */
function listed(area) {
  return [...document.querySelectorAll("#points ~ .wide tbody tr")].map((row) => {
    const link = row.querySelector("a");
    const [since, meaning] = row.querySelectorAll("td");
    return [`${area}.${link.textContent}`, area, meaning.textContent, "", since.textContent, [], "", link.getAttribute("href").split("/").at(-1)];
  });
}

export async function area(data) {
  const box = document.getElementById("area");
  const name = box.dataset.area;
  const rows = new Rows(document.getElementById("rows"));
  const who = document.getElementById("chosen").elements.namedItem("p");
  const from = first(data, name);
  data.points = [];
  for (const [at, point] of listed(name).entries()) data.points[from + at] = point;
  const numbers = Object.keys(data.points).map(Number);
  fill(who, data.personas.map((each) => [each, each]), persona(data));
  const show = async () => {
    await load(data, who.value, [name]);
    const asked = data.spots.map((_spot, at) => at).filter((at) => numbers.some((number) => told(data, who.value, at, number)));
    const there = asked.filter((at) => numbers.some((number) => !["", "absent"].includes(told(data, who.value, at, number))));
    const shown = there.length ? there : asked;
    const without = asked.filter((at) => !shown.includes(at));
    rows.show(data, numbers, shown, who.value, name.length + 1);
    document.getElementById("found").textContent = `${numbers.length} points, ${shown.length} kernels, as ${who.value}`;
    document.getElementById("without").replaceChildren(...(without.length ? ["All of it is absent on ",
      ...without.flatMap((at, place) => [...(place ? [", "] : []), make("a", data.spots[at].name, { href: `../${data.spots[at].page}` })]), "."] : []));
  };
  who.addEventListener("change", () => {
    remember(who.value);
    keep({ ...state(), p: who.value });
    show();
  });
  document.getElementById("chosen").addEventListener("submit", (event) => event.preventDefault());
  await show();
}

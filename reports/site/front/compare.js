// SPDX-License-Identifier: MIT
// Kernels and devices side by side: only the points in which they differ.
import { load, take, told } from "./cells.js";
import { fill, keep, make, persona, remember, state } from "./frame.js";
import { Rows } from "./rows.js";

const TOLD = ["yes", "no", "broken", "hazard"];
const DEVICE = "d:";    // starts the id of a device in the address

/** The numbers of the points that change between these columns. */
export function transitions(data, spots, who, show) {
  return data.points.map((_point, number) => number).filter((number) => {
    const words = spots.map((at) => told(data, who, at, number)).filter(Boolean);
    if (show === "all") return words.length > 0;
    const counted = show === "told" ? words.filter((word) => TOLD.includes(word)) : words;
    return new Set(counted).size > 1;
  });
}

/** Loads the answers of a device, which are a script of their own, and makes them a column; its number. */
async function column(data, device) {
  const id = DEVICE + device.id;
  const there = data.spots.findIndex((spot) => spot.id === id);
  if (there >= 0) return there;
  const found = await take(`data/device/${device.id}.js`, "PERFMODES_DEVICE");
  const cells = found?.id === device.id ? found.cells : {};
  data.spots.push({ ...device, id, page: `device/${device.id}.html`, numbers: [], cells });
  return data.spots.length - 1;
}

/** The columns that an address names, loaded where they must be. */
async function named(data, devices, ids) {
  const found = [];
  for (const id of ids) {
    const device = devices.find((each) => DEVICE + each.id === id);
    const at = device ? await column(data, device) : data.spots.findIndex((spot) => spot.id === id);
    if (at >= 0 && !found.includes(at)) found.push(at);
  }
  return found;
}

class Comparison {
  constructor(data, devices) {
    this.data = data;
    this.devices = devices;
    this.form = document.getElementById("chosen");
    this.rows = new Rows(document.getElementById("rows"));
    this.chosen = [];
    [this.add, this.device, this.who, this.what] = ["add", "device", "p", "show"].map((name) => this.form.elements.namedItem(name));
  }

  picked(at) {
    const { name } = this.data.spots[at];
    const button = make("button", `${name} ×`, { type: "button", "aria-label": `Remove ${name}` });
    button.addEventListener("click", () => {
      this.chosen = this.chosen.filter((other) => other !== at);
      this.show();
      this.add.focus();
    });
    const row = make("li");
    row.append(button);
    return row;
  }

  choices() {
    const { data, chosen } = this;
    const has = (id) => chosen.some((at) => data.spots[at].id === id);
    fill(this.add, [["", "choose…"], ...data.spots.slice(0, data.kernels).map((spot, at) => [String(at), `${spot.name} (${spot.release}, ${spot.kind})`])
      .filter(([at]) => !chosen.includes(Number(at)))], "");
    fill(this.device, [["", "choose…"], ...this.devices.filter((each) => !has(DEVICE + each.id))
      .map((each) => [each.id, `${each.name} (${each.arch}, ${each.kind})`])], "");
  }

  async show() {
    const { data, chosen, who, what } = this;
    await load(data, who.value);
    remember(who.value);
    keep({ c: chosen.map((at) => data.spots[at].id).join(","), p: who.value, show: what.value });
    this.choices();
    document.getElementById("columns").replaceChildren(...chosen.map((at) => this.picked(at)));
    const points = chosen.length > 1 ? transitions(data, chosen, who.value, what.value) : [];
    this.rows.show(data, points, chosen, who.value);
    document.getElementById("found").textContent = chosen.length < 2 ? "Choose at least two." :
      `${points.length} of ${data.points.length} points ${what.value === "all" ? "were asked" : "differ"}, as ${who.value}`;
  }

  async changed(target) {
    if (target === this.add && target.value) this.chosen.push(Number(target.value));
    if (target === this.device && target.value) {
      const at = await column(this.data, this.devices.find((each) => each.id === target.value));
      if (!this.chosen.includes(at)) this.chosen.push(at);
    }
    await this.show();
  }
}

export async function compare(data) {
  const made = new Comparison(data, window.PERFMODES_DEVICES ?? []);
  const asked = state();
  fill(made.who, data.personas.map((name) => [name, name]), persona(data));
  made.what.value = asked.show ?? "";
  made.chosen = await named(data, made.devices, (asked.c ?? "").split(",").filter(Boolean));
  made.form.addEventListener("input", (event) => made.changed(event.target));
  made.form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("compare").hidden = false;
  await made.show();
}

// SPDX-License-Identifier: MIT
// A long and wide table of points and kernels, of which only what is in view is in the page.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { told } from "./cells.js";
import { cell, make } from "./frame.js";

const HEIGHT = 24;
const WIDTH = 28;
const UP = document.body.dataset.up;

function gap(tag, pixels) {
  const filler = make(tag, "", { class: "gap", "aria-hidden": "true" });
  filler.style.width = `${pixels}px`;
  filler.style.minWidth = `${pixels}px`;
  return filler;
}

/** The cells of a row that are in view, with room for those that are not. */
function across(view, tag, one) {
  const before = view.first * WIDTH;
  const after = (view.all - view.last - 1) * WIDTH;
  const made = [];
  if (before > 0) made.push(gap(tag, before));
  for (let at = view.first; at <= view.last; at += 1) made.push(one(at));
  if (after > 0) made.push(gap(tag, after));
  return made;
}

function head(data, spots, view) {
  const row = make("tr");
  const name = make("th", "point", { scope: "col" });
  name.style.setProperty("--letters", String(view.name));
  row.append(name, make("th", "since", { scope: "col", class: "n" }));
  row.append(...across(view, "th", (at) => {
    const { name, page } = data.spots[spots[at]];
    const turned = make("th", "", { scope: "col", class: "turn", "aria-colindex": String(at + 3) });
    const link = make("a", "", { href: UP + page });
    link.append(make("span", name));
    turned.append(link);
    return turned;
  }));
  return row;
}

function line(data, number, spots, who, view, skip) {
  const [key, , meaning, , since, , , page] = data.points[number];
  const row = make("tr");
  const name = make("th", "", { scope: "row" });
  name.append(make("a", key.slice(skip), { href: `${UP}point/${page}`, title: meaning }));
  row.append(name, make("td", since, { class: "n" }));
  row.append(...across(view, "td", (at) => cell(told(data, who, spots[at], number))));
  return row;
}

function space(pixels) {
  const row = make("tr", "", { class: "gap", "aria-hidden": "true" });
  const filler = make("td");
  filler.style.height = `${pixels}px`;
  row.append(filler);
  return row;
}

const USUAL = { observeElementRect, observeElementOffset, scrollToFn: elementScroll };

/** Shows these points (numbers) on these spots (numbers) in the box, as a persona; `skip` letters of their names. */
export class Rows {
  constructor(box) {
    this.box = box;
    this.stop = () => {};
  }

  show(data, points, spots, who, skip = 0) {
    this.stop();
    const { box } = this;
    const top = make("thead");
    const body = make("tbody");
    const table = make("table", "", { class: "grid", "aria-rowcount": String(points.length + 1), "aria-colcount": String(spots.length + 2) });
    table.append(make("caption", `asked as ${who}`, { class: "sr" }), top, body);
    box.replaceChildren(table);
    box.scrollTo(0, 0);
    const name = Math.min(Math.max(...points.map((number) => data.points[number][0].length - skip), 8), 44);
    let drawn = "";
    const draw = () => {
      const items = down.getVirtualItems();
      const columns = sideways.getVirtualItems();
      const view = { first: columns[0]?.index ?? 0, last: columns.at(-1)?.index ?? -1, all: spots.length, name };
      const seen = [items[0]?.index, items.at(-1)?.index, view.first, view.last].join();
      if (seen === drawn) return;
      drawn = seen;
      const rest = down.getTotalSize() - (items.at(-1)?.end ?? 0);
      top.replaceChildren(head(data, spots, view));
      body.replaceChildren(...(items[0]?.start ? [space(items[0].start)] : []), ...items.map(({ index }) => {
        const row = line(data, points[index], spots, who, view, skip);
        row.setAttribute("aria-rowindex", String(index + 2));
        return row;
      }), ...(rest > 0 ? [space(rest)] : []));
    };
    const rect = { width: box.clientWidth || innerWidth, height: innerHeight };
    const down = new Virtualizer({ ...USUAL, count: points.length, getScrollElement: () => box, estimateSize: () => HEIGHT, overscan: 6, initialRect: rect, onChange: draw });
    const sideways = new Virtualizer({ ...USUAL, count: spots.length, getScrollElement: () => box, estimateSize: () => WIDTH, overscan: 6, horizontal: true, initialRect: rect, onChange: draw });
    const unmount = [down, sideways].map((each) => {
      const stop = each._didMount();
      each._willUpdate();
      return stop;
    });
    this.stop = () => unmount.forEach((each) => each());
    draw();
  }
}

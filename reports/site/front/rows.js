// SPDX-License-Identifier: MIT
// A long table of points and kernels, of which only the rows in view are in the page.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { cell, make, verdict } from "./frame.js";

const HEIGHT = 24;

function head(data, spots) {
  const row = make("tr");
  row.append(make("th", "point", { scope: "col" }), make("th", "since", { scope: "col" }));
  for (const at of spots) {
    const turned = make("th", "", { scope: "col", class: "turn" });
    const link = make("a", "", { href: data.spots[at].page });
    link.append(make("span", data.spots[at].name));
    turned.append(link);
    row.append(turned);
  }
  const made = make("thead");
  made.append(row);
  return made;
}

function line(data, number, spots, who) {
  const [key, , meaning, , since, , , page] = data.points[number];
  const row = make("tr", "", { "aria-rowindex": "" });
  const name = make("th", "", { scope: "row" });
  name.append(make("a", key, { href: `point/${page}`, title: meaning }));
  row.append(name, make("td", since, { class: "n" }));
  for (const at of spots) row.append(cell(verdict(data, data.cells[who][at]?.[number])));
  return row;
}

function gap(pixels, columns) {
  const row = make("tr", "", { class: "gap", "aria-hidden": "true" });
  const filler = make("td", "", { colspan: String(columns) });
  filler.style.height = `${pixels}px`;
  row.append(filler);
  return row;
}

/** Shows these points (numbers) on these spots (numbers) in the box, as a persona. */
export class Rows {
  constructor(box) {
    this.box = box;
    this.stop = () => {};
  }

  show(data, points, spots, who) {
    this.stop();
    const body = make("tbody");
    const table = make("table", "", { class: "grid", "aria-rowcount": String(points.length + 1) });
    table.append(make("caption", `asked as ${who}`, { class: "sr" }), head(data, spots), body);
    this.box.replaceChildren(table);
    this.box.scrollTop = 0;
    const draw = () => {
      const items = virtual.getVirtualItems();
      const first = items[0]?.start ?? 0;
      const last = items.at(-1)?.end ?? 0;
      const rows = items.map(({ index }) => {
        const row = line(data, points[index], spots, who);
        row.setAttribute("aria-rowindex", String(index + 2));
        return row;
      });
      body.replaceChildren(...(first ? [gap(first, spots.length + 2)] : []), ...rows,
        ...(virtual.getTotalSize() > last ? [gap(virtual.getTotalSize() - last, spots.length + 2)] : []));
    };
    const virtual = new Virtualizer({
      count: points.length,
      getScrollElement: () => this.box,
      estimateSize: () => HEIGHT,
      overscan: 20,
      initialRect: { width: this.box.clientWidth, height: innerHeight },
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: draw,
    });
    const unmount = virtual._didMount();
    virtual._willUpdate();
    this.stop = unmount;
    draw();
  }
}

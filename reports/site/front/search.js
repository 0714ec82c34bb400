// SPDX-License-Identifier: MIT
// The start page: does X work on my kernel?
import MiniSearch from "minisearch";
import { chip, fill, keep, make, state, verdict } from "./frame.js";

const MOST = 30;

function index(data) {
  const made = new MiniSearch({
    fields: ["key", "meaning", "title", "words", "parts"],
    searchOptions: {
      boost: { key: 4, parts: 3, title: 2, words: 2 },
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
      combineWith: "AND",
    },
  });
  made.addAll(
    data.points.map(([key, , meaning, title, , , words], id) => ({
      id, key, meaning, title, words, parts: key.replace(/[._]/g, " "),
    })),
  );
  return made;
}

function elsewhere(data, number, who) {
  const counts = new Map();
  for (const [at, spot] of data.spots.entries()) {
    const word = verdict(data, data.cells[who][at]?.[number]);
    if (word && word !== "absent") counts.set(word, [...(counts.get(word) ?? []), spot.name]);
  }
  return [...counts].map(([word, names]) =>
    `${word}: ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}`).join(" · ");
}

function hit(data, number, at, who) {
  const [key, , meaning, , since, , , page] = data.points[number];
  const row = make("li");
  const head = make("p");
  head.append(make("a", key, { href: `point/${page}`, class: "key" }), ` ${since ? `since ${since}` : ""}`);
  row.append(chip(verdict(data, data.cells[who][at]?.[number])), head, make("p", meaning),
    make("p", elsewhere(data, number, who), { class: "elsewhere" }));
  return row;
}

export function search(data) {
  const found = index(data);
  const [box, spots, who] = ["q", "spot", "who"].map((id) => document.getElementById(id));
  const asked = state();
  const best = data.spots.reduce((most, spot, at) => (spot.personas.length >= data.spots[most].personas.length ? at : most), 0);
  const named = data.spots.findIndex((spot) => spot.id === asked.k);
  fill(spots, data.spots.map((spot, at) => [String(at), `${spot.name} (${spot.release})`]), String(named < 0 ? best : named));
  box.value = asked.q ?? "";
  const show = () => {
    const words = box.value.trim();
    const hits = words ? found.search(words) : [];
    document.getElementById("hits").replaceChildren(
      ...hits.slice(0, MOST).map(({ id }) => hit(data, id, Number(spots.value), who.value)));
    document.getElementById("said").textContent = !words ? "" :
      `${hits.length || "No"} ${hits.length === 1 ? "point" : "points"}${hits.length > MOST ? `, the best ${MOST} here` : ""}, as ${who.value} on ${data.spots[Number(spots.value)].name}`;
  };
  const moved = () => {
    keep({ q: box.value.trim(), k: data.spots[Number(spots.value)].id, p: who.value });
    show();
  };
  for (const each of [box, spots, who]) each.addEventListener(each === who ? "change" : "input", moved);
  addEventListener("hashchange", () => {
    box.value = state().q ?? box.value;
    show();
  });
  document.getElementById("search").hidden = false;
  if (location.hash.startsWith("#q=")) box.focus();
  show();
}

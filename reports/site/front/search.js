// SPDX-License-Identifier: MIT
// The start page: does X work on my kernel? What people look for comes first, then points.
import MiniSearch from "minisearch";
import { load, take, told } from "./cells.js";
import { chip, fill, keep, make, older, state } from "./frame.js";

const MOST = 30;
const FEATURES = 6;
const OPTIONS = {
  prefix: true,
  fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
  combineWith: "AND",
};
// What a question has besides its subject.
const EMPTY = new Set("a an and are as at by can do does for how i in is it may me my of on or the there to use what which with work works".split(" "));

function index(data) {
  const made = new MiniSearch({
    fields: ["key", "meaning", "title", "words", "parts"],
    searchOptions: { ...OPTIONS, boost: { key: 4, parts: 3, title: 2, words: 2 } },
  });
  made.addAll(
    data.points.map(([key, , meaning, title, , , words], id) => ({
      id, key, meaning, title, words, parts: key.replace(/[._]/g, " "),
    })),
  );
  return made;
}

function indexFeatures(features) {
  const made = new MiniSearch({
    fields: ["name", "words", "about"],
    searchOptions: { ...OPTIONS, boost: { name: 3, words: 2 } },
  });
  made.addAll(features.map(([, name, about, words], id) => ({ id, name, about, words: words.replaceAll("·", " ") })));
  return made;
}

/** The features for some words, the best first: a word of the list that is just what was typed counts most. */
export function wanted(data, found, words, options = {}) {
  const typed = words.toLowerCase();
  const phrases = (id) => data.wanted.features[id][3].toLowerCase().split(" · ");
  return found.search(words, {
    boostDocument: (id) => (phrases(id).includes(typed) ? 10 : 1),
    processTerm: (term) => (EMPTY.has(term.toLowerCase()) ? null : term.toLowerCase()),
    ...options,
  });
}

/** The names of systems, each to be found as a whole. */
function indexSystems(systems) {
  const made = new MiniSearch({ fields: ["name"], storeFields: ["name", "system"], searchOptions: { fuzzy: (term) => (term.length > 4 ? 0.3 : 0) } });
  made.addAll(systems.flatMap((system) => system.names.map((name) => ({ name, system }))).map((each, id) => ({ id, ...each })));
  return made;
}

const terms = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** The system that is named in what was typed, and the other words. A name of one word must be just that. */
function taken(systems, typed) {
  const named = systems.search(typed)
    .map((hit) => ({ ...hit, all: terms(hit.name) }))
    .filter(({ all, terms: met, queryTerms }) => all.every((term) => (all.length > 1 ? met : queryTerms).includes(term)));
  if (!named.length) return { words: typed };
  const best = named.reduce((one, other) => (other.all.length > one.all.length ? other : one));
  const rest = typed.split(/\s+/).filter((word) => !terms(word).every((term) => best.queryTerms.includes(term)));
  return { system: best.system, words: rest.join(" ") };
}

function elsewhere(data, number, who) {
  const counts = new Map();
  for (const [at, spot] of data.spots.entries()) {
    const word = told(data, who, at, number);
    if (word && word !== "absent") counts.set(word, [...(counts.get(word) ?? []), spot.name]);
  }
  return [...counts].map(([word, names]) =>
    `${word}: ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}`).join(" · ");
}

/** Where to look: the columns of a kernel or of a system, and its name. */
function places(data, value) {
  const system = data.wanted.systems.find(({ name }) => name === value);
  if (system) return { name: system.title, page: system.page, columns: system.columns };
  const at = data.spots.findIndex((spot) => spot.id === value);
  const columns = Object.fromEntries(Object.entries(data.wanted.cells).map(([who, cells]) => [who, cells[at]]));
  return { name: data.spots[at].name, columns: [{ name: data.spots[at].name, ...columns }], at };
}

function line(word, link, more, texts) {
  const row = make("li");
  const head = make("p");
  head.append(link, more);
  row.append(word, head, ...texts);
  return row;
}

/** The verdict of a sign. */
function of(data, sign) {
  return sign === undefined || sign === data.silent ? "" : data.verdicts[Number(sign)];
}

function feature(data, number, place, who) {
  const [id, name, about, , since] = data.wanted.features[number];
  const said = place.columns.map((column) => [column.name, of(data, column[who]?.[number])]);
  const same = new Set(said.map(([, word]) => word)).size === 1;
  const each = same ? [] : [make("p", said.map(([kernel, word]) => `${kernel}: ${word || "not asked"}`).join(" · "), { class: "elsewhere" })];
  return line(same ? chip(said[0][1]) : make("span", "differs", { class: "v mixed" }),
    make("a", name, { href: `feature/${id}.html`, class: "feature" }), since ? ` since ${since}` : "",
    [make("p", about), ...each]);
}

function point(data, number, place, who) {
  const [key, , meaning, , since, , , page, refuses] = data.points[number];
  const word = place.at === undefined ? make("span", "point", { class: "v silent" }) : chip(told(data, who, place.at, number));
  return line(word, make("a", key, { href: `point/${page}`, class: "key" }), since ? ` since ${since}` : "",
    [make("p", refuses ? `${meaning} (a refusal)` : meaning), make("p", elsewhere(data, number, who), { class: "elsewhere" })]);
}

/** Numbers of features and points for what was typed; all words first, any of them where nothing has all. */
function look(data, points, features, words) {
  if (!words) return { features: [], points: [], exact: false };
  const exact = data.points.some(([key]) => key === words);
  const both = { features: wanted(data, features, words), points: points.search(words), exact };
  if (both.features.length + both.points.length) return both;
  const best = (hits) => hits.filter(({ score }) => score > hits[0].score / 3);
  return {
    features: best(wanted(data, features, words, { combineWith: "OR" })),
    points: best(points.search(words, { combineWith: "OR" })),
    exact,
  };
}

/** The newest kernel that most people could have: of the most personas, at the usual level, with no PMU of a test. */
function usual(data) {
  const rank = (spot) => [spot.kind !== "synthetic", ["2", ""].includes(spot.level), spot.arch === "x86_64"].filter(Boolean).length + Object.keys(spot.personas).length * 4;
  return data.spots.reduce((best, spot) =>
    (rank(spot) > rank(best) || (rank(spot) === rank(best) && older(best.numbers, spot.numbers)) ? spot : best));
}

let whole;
/** What is searched; loaded when somebody begins to, since most who come read the table. */
function begin(data) {
  whole ??= (async () => {
    data.points ??= (await take("points.js", "PERFMODES_POINTS")) ?? [];
    data.wanted ??= await take("wanted.js", "PERFMODES_WANTED");
    return { points: index(data), features: indexFeatures(data.wanted.features), systems: indexSystems(data.wanted.systems) };
  })();
  return whole;
}

export async function search(data) {
  const [box, spots, who] = ["q", "spot", "who"].map((id) => document.getElementById(id));
  const known = [...data.systems, ...data.spots.map((spot) => [spot.id, `${spot.name} (${spot.release})`])];
  const start = known.some(([value]) => value === state().k) ? state().k : usual(data).id;
  fill(spots, known, start);
  box.value = state().q ?? "";
  const list = document.getElementById("hits");
  let asked = 0;
  const show = async () => {
    const number = (asked += 1);
    list.setAttribute("aria-busy", "true");
    const found = box.value.trim() ? await begin(data) : undefined;
    if (number !== asked) return;       // something else was typed meanwhile
    if (!found) {
      list.replaceChildren();
      document.getElementById("said").textContent = "";
      list.setAttribute("aria-busy", "false");
      return;
    }
    const { system, words } = taken(found.systems, box.value.trim());
    if (system) spots.value = system.name;
    const place = places(data, spots.value);
    const hits = look(data, found.points, found.features, words);
    await load(data, who.value, [...new Set(hits.points.slice(0, MOST).map(({ id }) => data.points[id][1]))]);
    if (number !== asked) return;
    const some = hits.features.slice(0, FEATURES).map(({ id }) => feature(data, id, place, who.value));
    const rest = hits.points.slice(0, MOST).map(({ id }) => point(data, id, place, who.value));
    const page = system ? [line(make("span", "system", { class: "v silent" }),
      make("a", system.title, { href: system.page, class: "feature" }), "", [make("p", "What works there, feature by feature.")])] : [];
    list.replaceChildren(...(hits.exact ? [...rest, ...some] : [...(words ? [] : page), ...some, ...(words ? page : []), ...rest]));
    document.getElementById("said").textContent =
      `${hits.features.length || "No"} ${hits.features.length === 1 ? "feature" : "features"} and ${hits.points.length || "no"} ${hits.points.length === 1 ? "point" : "points"}, as ${who.value} on ${place.name}`;
    list.setAttribute("aria-busy", "false");
  };
  const moved = () => {
    show();
    keep({ q: box.value.trim(), k: spots.value, p: who.value });
  };
  for (const each of [box, spots, who]) each.addEventListener(each === who ? "change" : "input", moved);
  addEventListener("hashchange", () => {
    box.value = state().q ?? box.value;
    show();
  });
  box.addEventListener("focus", () => begin(data), { once: true });
  if (location.hash.startsWith("#q=")) box.focus();
  await show();
}

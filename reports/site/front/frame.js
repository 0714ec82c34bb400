// SPDX-License-Identifier: MIT
// What is on every page: the theme, the persona, and the address that keeps both filters and links.

const kept = {
  get: (name) => {
    try {
      return localStorage.getItem(`perfmodes.${name}`);
    } catch {
      return null;
    }
  },
  set: (name, value) => {
    try {
      localStorage.setItem(`perfmodes.${name}`, value);
    } catch {
      // Without storage the choice holds for this page.
    }
  },
};

/** The filters in the address, after the #. */
export function state() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Puts filters into the address without a step in the history; empty ones are left out. */
export function keep(values) {
  const left = Object.entries(values).filter(([, value]) => value !== "" && value !== false);
  const hash = new URLSearchParams(left).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

/** An element with text; nothing of the data is ever markup. */
export function make(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Fills a select: pairs of value and text. A value that is asked for and not among them is kept, and finds nothing. */
export function fill(select, pairs, value) {
  const all = value === undefined || pairs.some(([key]) => key === value) ? pairs : [...pairs, [value, `${value} (not here)`]];
  select.replaceChildren(...all.map(([key, text]) => make("option", text, { value: key })));
  if (value !== undefined) select.value = value;
}

export function theme() {
  const root = document.documentElement;
  const button = make("button", "", { type: "button" });
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => (button.textContent = dark() ? "Light" : "Dark");
  const stored = kept.get("theme");
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    kept.set("theme", root.dataset.theme);
    say();
  });
  say();
  document.getElementById("tools").append(button);
}

/** The persona of the address or the one that was chosen last; else the one that most people are. */
function chosen(names) {
  const asked = [location.hash.slice(1), state().p, kept.get("persona")];
  return [...asked, "user", names[0]].find((name) => names.includes(name));
}

export function persona(data) {
  return chosen(data.personas);
}

export function remember(name) {
  kept.set("persona", name);
}

/** The part of a persona. Where it is in a noscript, for who runs none, its markup is put into the page now. */
function unwrap(part) {
  if (part.tagName !== "NOSCRIPT") return part;
  const made = new DOMParser().parseFromString(part.textContent, "text/html").querySelector(".persona");
  part.replaceWith(made);
  return made;
}

/** Shows the tables of one persona where a page has a table for each. */
export function personas() {
  const parts = [...document.querySelectorAll("main .persona")];
  if (!parts.length) return;
  const names = [...new Set(parts.map((part) => part.dataset.persona))];
  const select = make("select", "", { id: "who" });
  fill(select, names.map((name) => [name, name]), chosen(names));
  const show = () => {
    for (const [at, part] of parts.entries()) {
      const wanted = part.dataset.persona === select.value;
      if (wanted) parts[at] = unwrap(part);
      parts[at].hidden = !wanted;
    }
  };
  const changed = () => {
    remember(select.value);
    keep({ ...state(), p: select.value });
    show();
  };
  select.addEventListener("change", changed);
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".who a");
    if (!link) return;
    event.preventDefault();
    select.value = link.hash.slice(1);
    select.dispatchEvent(new Event("change"));
  });
  const label = make("label", "asked as");
  label.append(select);
  document.getElementById("tools").prepend(label);
  show();
}

/** Where this site is, in what is to be copied. */
export function address() {
  const here = new URL(document.body.dataset.up || "./", location.href).href;
  for (const each of document.querySelectorAll("[data-address]")) each.textContent = each.textContent.replaceAll("https://SITE/", here);
}

export function chip(word) {
  return make("span", word || "not asked", { class: `v ${word || "silent"}` });
}

/** A cell of a table: its colour and sign for the eye, its word for a reader. */
export function cell(word) {
  return make("td", word || "not asked", { class: `c ${word || "silent"}` });
}

/** Compares releases given as lists of numbers. */
export function older(a, b) {
  for (let at = 0; at < 3; at += 1) {
    if ((a[at] ?? 0) !== (b[at] ?? 0)) return (a[at] ?? 0) < (b[at] ?? 0);
  }
  return false;
}

/** How an answer differs from upstream of that series: backport, lacks, wrong, or "". */
export function differs(point, spot, word) {
  if (word === "broken") return "wrong";
  const since = point[5];
  if (!since.length || !spot.numbers.length) return "";
  const before = older(spot.numbers, since);
  if (word === "yes" && before) return "backport";
  return word === "no" && !before ? "lacks" : "";
}

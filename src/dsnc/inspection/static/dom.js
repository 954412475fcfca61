// Elements, in few words.

export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name in made && !name.startsWith("aria")) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// A label as text: controls that turn what follows around are named, so that none is shown reversed.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
const named = (control) => `\u2039U+${control.codePointAt(0).toString(16).toUpperCase()}\u203a`;
export const shown = (label) => (label === "" ? "(empty)" : String(label).replace(TURNS, named));

export const byId = (id) => document.getElementById(id);

export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null));
}

export const counted = (n, one, many = `${one}s`) => `${grouped(n)} ${n === 1 ? one : many}`;

export const grouped = (n) => n.toLocaleString("en-US");

export function percent(share) {
  const many = 100 * share;
  const figure = many > 0 && many < 0.1 ? "<\u202f0.1" : many.toFixed(many > 0 && many < 9.95 ? 1 : 0);
  return `${figure}\u202f%`;
}

// Say something to who listens to the page.
export function say(text) {
  byId("said").textContent = text;
}

export function table(caption, heads, rows) {
  const head = heads.map((name) => el("th", { scope: "col", class: name.startsWith(" ") ? "number" : "" }, name.trim()));
  const body = rows.map((cells) =>
    el("tr", {}, cells.map((cell, i) => el("td", { class: heads[i].startsWith(" ") ? "number" : "" }, cell))),
  );
  return el(
    "table",
    {},
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, body),
  );
}

// A box that finds classes by their labels, as one types.
import { byId, counted, el, fill, say } from "./dom.js";

const MOST = 30;
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

const IN_WORD = /[\p{L}\p{N}]/u;

// Numbers of the labels that contain the text, the best first; and how many do.
export function matching(labels, text) {
  const wanted = folded(text).trim();
  const ranked = [[], [], [], []];
  let n = 0;
  for (let i = 0; wanted && i < labels.length; i++) {
    const rank = rankOf(labels[i], wanted);
    if (rank < 0) continue;
    n++;
    if (ranked[rank].length < MOST) ranked[rank].push(i);
  }
  return { numbers: ranked.flat().slice(0, MOST), n };
}

// 0: the label is the text; 1: it begins with it; 2: a word does; 3: it is inside; -1: it is not there.
function rankOf(label, wanted) {
  let place = label.indexOf(wanted);
  if (place <= 0) return place < 0 ? -1 : Number(label.length > wanted.length);
  while (place > 0 && IN_WORD.test(label[place - 1])) place = label.indexOf(wanted, place + 1);
  return place > 0 ? 2 : 3;
}

export class Search {
  constructor(state) {
    this.state = state;
    this.input = byId("search");
    this.list = byId("matches");
    this.folded = [];
    this.active = -1;
    this.numbers = [];
    state.on("model", () => {
      this.folded = state.labels.map((label) => folded(String(label)));
      this.input.value = "";
      this._close();
    });
    this.input.addEventListener("input", () => this._update());
    this.input.addEventListener("focus", () => this.input.value && this._update());
    this.input.addEventListener("blur", () => this._close());
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this._take(Number(option.dataset.number));
    });
  }

  _update() {
    const { numbers, n } = matching(this.folded, this.input.value);
    this.numbers = numbers;
    this.active = numbers.length ? 0 : -1;
    const { label } = { label: (number) => this.state.label(number) };
    const options = numbers.map((number, i) =>
      el("li", { role: "option", id: `match-${i}`, "data-number": number, "aria-selected": "false" }, label(number)),
    );
    const more = n > numbers.length ? el("li", { class: "faint", role: "presentation" }, `and ${counted(n - numbers.length, "other")}`) : null;
    const none = this.input.value.trim() && !n ? el("li", { class: "faint", role: "presentation" }, "Nothing contains this text.") : null;
    fill(this.list, options, more, none);
    const open = Boolean(this.input.value.trim());
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    if (open) say(n ? counted(n, "match", "matches") : "no match");
    this._mark();
  }

  _mark() {
    for (const option of this.list.querySelectorAll("[role=option]")) {
      const on = option.id === `match-${this.active}`;
      option.setAttribute("aria-selected", String(on));
      if (on) option.scrollIntoView({ block: "nearest" });
    }
    if (this.active < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `match-${this.active}`);
  }

  _key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.numbers.length && !this.list.hidden) {
      this.active = (this.active + step + this.numbers.length) % this.numbers.length;
      this._mark();
    } else if (event.key === "Enter" && this.active >= 0 && !this.list.hidden) {
      this._take(this.numbers[this.active]);
    } else if (event.key === "Escape" && !this.list.hidden) {
      this._close();
    } else return;
    event.preventDefault();
  }

  _take(number) {
    this.input.value = "";
    this._close();
    this.state.choose(number);
  }

  _close() {
    this.list.hidden = true;
    this.active = -1;
    this.numbers = [];
    this.list.replaceChildren();
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

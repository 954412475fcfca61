// What is found for a code: the nearest classes, and the bits that separate them from it.
import { hasBit, separating } from "./codes.js";
import { byId, counted, el, fill } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
export const NAMES = { classes: ["class", "classes"], labels: ["label", "labels"] };

export class Nearest {
  constructor(state) {
    this.state = state;
    this.list = byId("nearest");
    state.on("code", () => this._update());
    byId("more").addEventListener("click", () => state.listMore());
  }

  _update() {
    const { state } = this;
    fill(this.list, state.found.map((number) => this._row(number)));
    byId("more").hidden = state.listed >= state.codes.size;
    byId("nearest-line").textContent = `Nearest of ${counted(state.codes.size, ...NAMES[state.facts.what])}, in exact order of distance`;
  }

  _row(number) {
    const { state } = this;
    const bits = separating(state.code, state.codes.of(number), state.codes.nBits);
    const link = el("button", { type: "button", class: "link", title: state.label(number), onclick: () => state.choose(number) }, state.label(number));
    return el("tr", { class: number === state.origin.number ? "own" : "" },
      el("td", { class: "number" }, String(bits.length)),
      el("td", {}, link, bits.length ? this._stripes(bits) : el("div", { class: "faint small" }, "the same code")));
  }

  // A place for each bit, marked where codes differ; press one to flip it.
  _stripes(bits) {
    const { state } = this;
    const { nBits } = state.codes;
    const stripes = document.createElementNS(SVG, "svg");
    stripes.setAttribute("viewBox", `0 0 ${nBits} 1`);
    stripes.setAttribute("preserveAspectRatio", "none");
    stripes.setAttribute("class", "stripes");
    stripes.setAttribute("role", "img");
    stripes.setAttribute("aria-label", `differs in bit${bits.length > 1 ? "s" : ""} ${bits.join(", ")}`);
    for (const bit of bits) {
      const stripe = document.createElementNS(SVG, "rect");
      for (const [name, value] of Object.entries({ x: bit + 0.1, width: 0.8, height: 1 })) stripe.setAttribute(name, value);
      stripe.setAttribute("class", hasBit(state.code, bit) ? "zero" : "one"); // what it is there
      stripes.append(stripe);
    }
    const under = (event) => {
      const box = stripes.getBoundingClientRect();
      const bit = Math.min(nBits - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * nBits)));
      return bits.includes(bit) ? bit : null;
    };
    stripes.addEventListener("pointermove", (event) => state.look(under(event)));
    stripes.addEventListener("pointerleave", () => state.look(null));
    stripes.addEventListener("click", (event) => {
      if (under(event) !== null) state.flip(under(event));
    });
    return stripes;
  }
}

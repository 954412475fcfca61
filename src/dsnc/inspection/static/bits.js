// A code as a field of bits that can be flipped.
import { hasBit, hexOf } from "./codes.js";
import { byId, counted, el, fill, percent, say } from "./dom.js";

const ROW = 16; // bits

export class Bits {
  constructor(state) {
    this.state = state;
    this.field = byId("bits");
    this.cells = [];
    state.on("model", () => this._build());
    state.on("code", () => this._update());
    state.on("bit", () => this._tellBit());
    this.field.addEventListener("click", (event) => {
      const cell = event.target.closest("button");
      if (cell) this._flip(Number(cell.dataset.bit));
    });
    this.field.addEventListener("keydown", (event) => this._key(event));
    for (const [name, leaves] of [["pointerover", false], ["focusin", false], ["pointerleave", true], ["focusout", true]]) {
      this.field.addEventListener(name, (event) => {
        const cell = event.target.closest("button");
        if (leaves) state.look(null);
        else if (cell && event.pointerType !== "touch") state.look(Number(cell.dataset.bit));
      });
    }
    byId("unflip").addEventListener("click", () => {
      state.unflip();
      say("All bits are restored.");
      this.cells[0]?.focus();
    });
  }

  _build() {
    const { nBits } = this.state.codes;
    this.cells = Array.from({ length: nBits }, (_, bit) =>
      el("button", { type: "button", class: "bit", "data-bit": bit, tabIndex: bit ? -1 : 0 }, el("span", {}, String(bit))),
    );
    const rows = [];
    for (let i = 0; i < nBits; i += ROW) rows.push(el("div", { class: "bit-row" }, this.cells.slice(i, i + ROW)));
    this.field.classList.toggle("dense", nBits > 128);
    fill(this.field, rows);
    this._tellBit();
  }

  _update() {
    const { state } = this;
    byId("code-title").textContent = byId("code-title").title = state.title;
    const sure = state.origin.bits;
    this.field.classList.toggle("sure", Boolean(sure));
    this.cells.forEach((cell, bit) => {
      const isSet = hasBit(state.code, bit);
      const isFlipped = state.isFlipped(bit);
      cell.classList.toggle("set", isSet);
      cell.classList.toggle("flipped", isFlipped);
      cell.setAttribute("aria-pressed", String(isSet));
      const sureness = sure && !isFlipped ? sure[bit].sureness : null;
      const told = sureness === null ? "" : `, ${percent(sureness)} sure`;
      cell.setAttribute("aria-label", `Bit ${bit}${told}${isFlipped ? ", flipped" : ""}`);
      cell.style.setProperty("--sure", sureness === null ? "100%" : `${(200 * (sureness - 0.5)).toFixed(0)}%`);
    });
    const { flips } = state;
    byId("hex").textContent = hexOf(state.code, state.codes.nBits);
    byId("flips").textContent = flips ? `${counted(flips, "bit")} flipped` : "";
    byId("unflip").hidden = !flips;
  }

  _flip(bit) {
    const { state } = this;
    state.flip(bit);
    this._move(bit, false);
    const nearest = state.found[0];
    const where = `${state.label(nearest)}, ${counted(state.distances[nearest], "bit")} away`;
    say(`Bit ${bit} is ${hasBit(state.code, bit) ? "set" : "not set"}. Nearest: ${where}.`);
    this._tellBit();
  }

  _key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: ROW, ArrowUp: -ROW };
    const bit = Number(event.target.dataset?.bit);
    let next = bit + (steps[event.key] || 0);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = this.cells.length - 1;
    if (next === bit || !this.cells[next]) return;
    event.preventDefault();
    this._move(next, true);
  }

  _move(bit, focus) {
    this.cells.forEach((cell, i) => (cell.tabIndex = i === bit ? 0 : -1));
    if (focus) this.cells[bit].focus();
  }

  // What a bit separates, for the one that is looked at.
  _tellBit() {
    const { bit, facts, origin } = this.state;
    const line = byId("bit-line");
    line.classList.toggle("with-features", Boolean(facts.bit_facts[0]?.up));
    if (bit === null || !facts.bit_facts[bit]) {
      fill(line, "Press a bit to flip it. Point at one, or move to it, and the map shows what it separates.");
      return;
    }
    const { share, set, unset, up, down } = facts.bit_facts[bit];
    const sureness = origin.bits ? `, ${percent(origin.bits[bit].sureness)} sure here` : "";
    const names = (numbers) => numbers.map((number) => this.state.label(number)).join(" · ") || "none";
    const side = (name, word, text) => el("div", { title: text }, el("b", { class: name }, word), ` ${text}`);
    fill(line, el("div", {}, el("b", {}, `Bit ${bit}`), ` set in ${percent(share)} of ${facts.what}${sureness}`),
      side("one", "Set", names(set)), up ? side("one", "Up", up.join(" · ")) : null,
      side("zero", "Not set", names(unset)), down ? side("zero", "Down", down.join(" · ")) : null);
  }
}

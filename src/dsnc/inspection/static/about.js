// What is known of the model, in tables.
import { byId, el, fill, percent, table } from "./dom.js";

export class About {
  constructor(state) {
    this.state = state;
    state.on("model", () => this._update());
    byId("about-bits").addEventListener("toggle", () => this._bits());
  }

  _update() {
    const { state } = this;
    const { about, trials, pairs, bit_facts: bits } = state.facts;
    const facts = about.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)));
    fill(byId("about-facts"), el("table", { class: "facts" }, el("caption", { class: "unseen" }, "Facts"), el("tbody", {}, facts)));
    fill(byId("about-trials"), section("Decoders on held-out rows", ["Decoder", " Accuracy", " Per row", "Settings"], trials));
    const link = (number) => el("button", { type: "button", class: "link", onclick: () => state.choose(number) }, state.label(number));
    const close = pairs.map(({ first, second, distance, likeness }) => [link(first), link(second), likeness.toFixed(2), String(distance)]);
    fill(byId("about-pairs"), section("Hardest to tell apart", ["One", "The other", " Likeness", " Bits"], close));
    byId("about-bits").hidden = !bits.length;
    byId("about-bits").open = false;
  }

  // What each bit separates, when somebody wants to read it.
  _bits() {
    const { state } = this;
    if (!byId("about-bits").open) return fill(byId("about-bits-list"));
    const side = (name, word, numbers, features) => el("p", {}, el("b", { class: name }, word), ` ${numbers.map((number) => state.label(number)).join(" · ") || "none"}`,
      features?.length ? el("span", { class: "faint" }, ` — pushed by ${features.join(" · ")}`) : null);
    const items = state.facts.bit_facts.map(({ share, set, unset, up, down }, bit) =>
      el("li", {}, el("b", {}, `Bit ${bit}`), el("span", { class: "faint" }, ` set in ${percent(share)}`), side("one", "Set", set, up), side("zero", "Not set", unset, down)));
    fill(byId("about-bits-list"), items);
  }
}

// Wide tables scroll by themselves, with keys as well.
function section(name, heads, rows) {
  if (!rows.length) return [];
  return [el("h4", {}, name), el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": name }, table(name, heads, rows))];
}

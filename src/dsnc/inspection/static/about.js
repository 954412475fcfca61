// What is known of the model, in tables.
import { byId, el, fill, table } from "./dom.js";

export class About {
  constructor(state) {
    state.on("model", () => {
      const { about, trials, pairs } = state.facts;
      const facts = about.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)));
      fill(byId("about-facts"), el("table", { class: "facts" }, el("tbody", {}, facts)));
      const tried = trials.length ? [el("h4", {}, "Decoders on held-out rows"),
        scrolled("Decoders on held-out rows", table("Decoders on held-out rows", ["Decoder", " Accuracy", " A row", "Settings"], trials))] : [];
      fill(byId("about-trials"), tried);
      const close = pairs.map(({ first, second, distance, likeness }) => [button(state, first), button(state, second), likeness.toFixed(2), String(distance)]);
      fill(byId("about-pairs"), close.length ? [el("h4", {}, "Hardest to tell apart"),
        scrolled("Hardest to tell apart", table("Hardest to tell apart", ["Class", "Class", " Likeness", " Bits"], close))] : []);
    });
  }
}

const scrolled = (name, inner) => el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": name }, inner);

const button = (state, number) => el("button", { type: "button", class: "link", onclick: () => state.choose(number) }, state.label(number));

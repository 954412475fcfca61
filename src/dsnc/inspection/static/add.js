// Add a class from some texts or rows, where the service lets one.
import { byId, counted, el, fill, grouped, shown } from "./dom.js";
import { parsedRow } from "./trial.js";

export class Add {
  constructor(state, source, seen) {
    Object.assign(this, { state, source, seen });
    this.form = byId("add-form");
    this.from = byId("add-from");
    state.on("model", () => {
      const hasTexts = state.facts.takes === "texts";
      this.from.hidden = byId("add-from-label").hidden = !hasTexts;
      this.from.value = "inputs";
      this._name();
    });
    this.from.addEventListener("change", () => this._name());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._send();
    });
  }

  _name() {
    const { takes, columns } = this.state.facts;
    const between = columns.length ? `: ${columns.join(", ")}, with tabs between` : "";
    const rows = takes === "texts" && !between ? "The texts" : `Its rows, one per line${between}`;
    byId("add-rows-label").textContent = this.from.value === "inputs" ? rows : "The description";
  }

  async _send() {
    if (this.form.hasAttribute("aria-busy")) return; // once is enough
    const { state, source } = this;
    const label = byId("add-label").value.trim();
    const lines = byId("add-rows").value.split("\n").filter((line) => line.trim());
    const result = byId("add-result");
    this.form.setAttribute("aria-busy", "true");
    try {
      if (!label || !lines.length) throw new Error("A class needs a label, and at least one text or row.");
      const isSaid = this.from.value === "descriptions";
      const given = isSaid ? [lines.join("\n")] : lines.map((line) => parsedRow(line, state.facts));
      fill(result, el("p", { class: "faint small", role: "status" }, "The model is being saved again; that takes a moment."));
      const known = typeof state.labels[0] === "number" ? Number(label) : label;
      await source.add(state.facts.model, { [this.from.value]: given, labels: given.map(() => known) });
      await this.seen(known);
      fill(result, el("p", { class: "done", role: "status" }, `${shown(label)} was added, from ${isSaid ? "its description" : counted(lines.length, "example")}; the model has ${grouped(state.labels.length)} ${state.facts.what} now.`));
      this.form.reset();
    } catch (error) {
      fill(result, el("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      this.form.removeAttribute("aria-busy");
    }
  }
}

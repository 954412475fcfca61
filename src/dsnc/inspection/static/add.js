// Add a class from some texts or rows, where the service lets one.
import { byId, counted, el, fill, grouped } from "./dom.js";
import { parsedRow } from "./trial.js";

export class Add {
  constructor(state, source, seen) {
    Object.assign(this, { state, source, seen });
    this.form = byId("add-form");
    state.on("model", () => {
      byId("add-rows-label").textContent = state.facts.takes === "texts" ? "Texts of it, a line each" : "Rows of it, a line each";
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._send();
    });
  }

  async _send() {
    const { state, source } = this;
    const label = byId("add-label").value.trim();
    const lines = byId("add-rows").value.split("\n").filter((line) => line.trim());
    const result = byId("add-result");
    this.form.setAttribute("aria-busy", "true");
    try {
      if (!label || !lines.length) throw new Error("A class needs a label, and a text or row at least.");
      const inputs = lines.map((line) => parsedRow(line, state.facts));
      const known = typeof state.labels[0] === "number" ? Number(label) : label;
      await source.add(state.facts.model, { inputs, labels: inputs.map(() => known) });
      await this.seen(known);
      fill(result, el("p", { role: "status" }, `${label} is there, from ${counted(lines.length, "example")}; the model has ${grouped(state.labels.length)} ${state.facts.what} now.`));
      this.form.reset();
    } catch (error) {
      fill(result, el("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      this.form.removeAttribute("aria-busy");
    }
  }
}

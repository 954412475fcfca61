// Try a text or a row: what the model says, and why.
import { byId, el, fill, percent, say, shown, table } from "./dom.js";

const TERMS = 14;
const UNKNOWN = "\u0000unknown"; // no label is like that
const FIELD = /\u001f/g; // between the texts of a row

// A row as the service takes it: a text, or those of its columns with tabs between them; JSON, or
// numbers with commas or blanks between them.
export function parsedRow(text, facts) {
  if (facts.columns.length) return text.split("\t");
  if (facts.takes === "texts") return text;
  const trimmed = text.trim();
  if (trimmed.startsWith("[") || trimmed.startsWith("{")) {
    try {
      return JSON.parse(trimmed);
    } catch {
      throw new Error("This is not valid JSON.");
    }
  }
  const words = trimmed.split(/[\s,;]+/).filter(Boolean);
  const sparse = words.map((word) => word.split(":"));
  const numbers = sparse.flat().map(Number);
  if (!words.length || numbers.some(Number.isNaN)) throw new Error("A row is a list of numbers, such as 1, 0.5, 3, or 17:0.5 if it is mostly zeros.");
  if (sparse.every((pair) => pair.length === 2)) {
    return { indices: sparse.map((pair) => Number(pair[0])), values: sparse.map((pair) => Number(pair[1])) };
  }
  return numbers;
}

export class Trial {
  constructor(state, source, seen) {
    Object.assign(this, { state, source, seen });
    this.form = byId("try-form");
    this.result = byId("try-result");
    state.on("model", () => this._model());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._ask();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && this.inputs.includes(event.target)) {
        event.preventDefault();
        this._ask();
      }
    });
  }

  _model() {
    const { facts } = this.state;
    this.result.replaceChildren();
    const text = facts.takes === "texts";
    const one = text ? "A text" : `A row of ${facts.features.toLocaleString("en-US")} numbers`;
    const names = facts.columns.length ? facts.columns : [one];
    this.inputs = names.map((_, i) => el("textarea", { id: `try-input${i || ""}`, rows: 2, "aria-describedby": "try-hint" }));
    fill(byId("try-fields"), names.flatMap((name, i) => [el("label", { for: this.inputs[i].id }, name), this.inputs[i]]));
    byId("try-hint").textContent = text ? "Enter predicts; Shift+Enter starts a new line."
      : "Numbers separated by commas or spaces; if mostly zeros, 17:0.5 for feature 17, counted from 0.";
  }

  async _ask() {
    const { state, source } = this;
    const { facts } = state;
    const values = this.inputs.map((input) => input.value);
    if (!values.join("").trim()) return this.inputs[0].focus();
    if (this.form.hasAttribute("aria-busy")) return;
    const body = facts.explains ? { explain: TERMS } : { top_k: Math.min(10, facts.classes) };
    if (facts.explains && facts.knows_unknown) body.unknown = UNKNOWN;
    this.form.setAttribute("aria-busy", "true");
    try {
      body.inputs = [facts.columns.length ? values : parsedRow(values[0], facts)];
      const answer = await source.predict(facts.model, { ...body, probabilities: true });
      if (answer.version !== facts.version) await this.seen();
      this._show(answer, values.join(" | "));
    } catch (error) {
      fill(this.result, el("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      this.form.removeAttribute("aria-busy");
    }
  }

  _show(answer, input) {
    const { facts } = this.state;
    const explanation = answer.explanations?.[0];
    const isUnknown = answer.labels[0] === UNKNOWN;
    const labels = isUnknown ? [explanation.label] : [answer.labels[0]].flat();
    const shares = isUnknown ? [explanation.probability] : [answer.probabilities[0]].flat();
    const answers = facts.sets ? labels : labels.slice(0, 1);
    const told = answers.map((label, i) => [el("strong", {}, shown(label)), ` ${percent(shares[i])}`]);
    const head = told.length ? told.map((parts) => el("p", { class: "answer" }, parts)) : el("p", { class: "answer" }, el("strong", {}, "No label"));
    const unknown = isUnknown ? el("p", { class: "problem small" }, "Unlike the rows of every class: it may belong to none of them.") : null;
    say(answers.map((label, i) => `${shown(label)}, ${percent(shares[i])}`).join("; ") || "no label");
    if (!explanation) return fill(this.result, head, this._plain(labels, shares));
    if (!facts.no_codes) this.state.showRow(shortened(input), explanation.bits);
    fill(this.result, head, unknown, this._text(explanation), this._candidates(explanation), this._terms(explanation));
  }

  _plain(labels, shares) {
    const rows = labels.map((label, i) => [shown(label), percent(shares[i])]);
    return table("Best classes", ["Class", " Probability"], rows);
  }

  // The text, its characters colored by what their n-grams add.
  _text({ text, marks, label }) {
    if (!text) return null;
    const most = Math.max(...marks.map(Math.abs), 1e-9);
    const spans = [...text].map((character, i) => {
      const strength = (marks[i] || 0) / most;
      const span = el("span", { class: strength < 0 ? "against" : "for" }, character.replace(FIELD, " | "));
      span.style.setProperty("--strength", Math.abs(strength).toFixed(2));
      return span;
    });
    return el("p", { class: "marked" }, spans, el("span", { class: "unseen" }, ` (colored by what speaks for ${shown(label)})`));
  }

  // The label of each above its figures: labels are long.
  _candidates({ candidates, second_stage: second, runner_up: runner, lead }) {
    const { state } = this;
    const heads = ["Probability", "Bits away", "Codes", ...(second ? ["Features", "Both"] : [])];
    const bodies = candidates.map((one) => {
      const number = state.labels.indexOf(one.label);
      const known = number >= 0 && state.distances;
      const name = known ? el("button", { type: "button", class: "link", onclick: () => state.choose(number) }, shown(one.label)) : shown(one.label);
      const scores = [one.first, ...(second ? [one.margin, one.score] : [])].map((value) => (value === null ? "" : signed(value)));
      const cells = [percent(one.probability), known ? String(state.distances[number]) : "", ...scores];
      return el("tbody", {}, el("tr", {}, el("th", { scope: "rowgroup", colSpan: heads.length }, name)), el("tr", {}, cells.map((cell) => el("td", {}, cell))));
    });
    const list = el("table", { class: "candidates" }, el("caption", { class: "unseen" }, "Candidates and their scores"),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), bodies);
    const hasSecond = state.facts.about.some(([name]) => name === "second stage");
    const alone = hasSecond ? "The codes were sure enough to decide alone." : "The codes decided.";
    const stages = second ? "Codes found the candidates and scored them; then features decided among them." : alone;
    return el("div", {},
      el("h4", {}, "Candidates"), el("p", { class: "faint small" }, stages),
      list,
      runner === null ? null : el("p", { class: "faint small" }, `The lead over ${shown(runner)} is ${lead.toFixed(2)}.`));
  }

  _terms({ terms, runner_up: runner, label }) {
    if (!terms.length || runner === null) return null;
    const most = Math.max(...terms.map((term) => Math.abs(term.value)), 1e-9);
    const rows = terms.map((term) => {
      const bar = el("span", { class: `bar ${term.value < 0 ? "against" : "for"}` });
      bar.style.setProperty("--length", `${((100 * Math.abs(term.value)) / most).toFixed(1)}%`);
      return el("li", {}, el("span", { class: "term" }, term.name), el("span", { class: "number" }, signed(term.value)), bar);
    });
    return el("div", {}, el("h4", {}, "What decided"),
      el("p", { class: "faint small" }, `What each adds to the lead of ${shown(label)} over ${shown(runner)}; below 0 speaks against it.`),
      el("ol", { class: "terms" }, rows));
  }
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

const shortened = (text) => (text.trim().length > 60 ? `${text.trim().slice(0, 59)}…` : text.trim());

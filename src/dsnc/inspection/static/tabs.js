// Tabs, for fingers and for keys.
import { byId } from "./dom.js";

export class Tabs {
  constructor(state, source) {
    this.list = byId("tabs");
    this.tabs = [...this.list.querySelectorAll("[role=tab]")];
    this.list.addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) this.show(tab);
    });
    this.list.addEventListener("keydown", (event) => this._key(event));
    state.on("model", () => {
      const { no_codes: none, changes } = state.facts;
      const there = { "tab-found": !none, "tab-try": source.live, "tab-add": source.live && changes, "tab-about": true };
      for (const tab of this.tabs) tab.hidden = !there[tab.id];
      const shown = this.tabs.find((tab) => !tab.hidden && tab.getAttribute("aria-selected") === "true");
      this.show(shown ?? this._seen()[0]);
    });
  }

  _seen() {
    return this.tabs.filter((tab) => !tab.hidden);
  }

  show(shown) {
    for (const tab of this.tabs) {
      tab.setAttribute("aria-selected", String(tab === shown));
      tab.tabIndex = tab === shown ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== shown;
    }
  }

  _key(event) {
    const seen = this._seen();
    const at = seen.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? seen.length - 1 : step && (at + step + seen.length) % seen.length;
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    this.show(seen[next]);
    seen[next].focus();
  }
}

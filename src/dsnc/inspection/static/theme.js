// Light, dark, or as the system has it.
import { byId } from "./dom.js";

const KEY = "dsnc-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export class Theme extends EventTarget {
  constructor() {
    super();
    this.button = byId("theme");
    this.choice = remembered();
    this.button.addEventListener("click", () => {
      this.choice = NEXT[this.choice];
      try {
        localStorage.setItem(KEY, this.choice);
      } catch {
        // A page from a file may not remember; it still changes.
      }
      this._apply();
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this._apply());
    this._apply();
  }

  _apply() {
    document.documentElement.style.colorScheme = this.choice === "auto" ? "light dark" : this.choice;
    this.button.textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[this.choice];
    this.button.setAttribute("aria-label", `${this.button.textContent} colors`);
    this.dispatchEvent(new Event("change"));
  }
}

function remembered() {
  try {
    return localStorage.getItem(KEY) in NEXT ? localStorage.getItem(KEY) : "auto";
  } catch {
    return "auto";
  }
}

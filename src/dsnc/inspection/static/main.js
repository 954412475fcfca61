// The page: one state, and views that follow it.
import { About } from "./about.js";
import { Add } from "./add.js";
import { Bits } from "./bits.js";
import { Codes } from "./codes.js";
import { byId, el, fill, grouped, shown } from "./dom.js";
import { MapView } from "./map.js";
import { NAMES, Nearest } from "./nearest.js";
import { Search } from "./search.js";
import { CHANGED, openSource } from "./source.js";
import { State } from "./state.js";
import { Tabs } from "./tabs.js";
import { Theme } from "./theme.js";
import { Trial } from "./trial.js";

const state = new State();
const source = openSource();
let loads = 0; // what an earlier one brings is too late

async function load(name, wanted) {
  const mine = ++loads;
  document.body.setAttribute("aria-busy", "true");
  try {
    const facts = await source.facts(name);
    const has = !facts.no_codes;
    const { version } = facts;
    const parts = [source.labels(name, version), has ? source.codes(name, version) : []];
    const [labels, words] = await Promise.all(parts);
    if (mine !== loads) return;
    state.show({ facts, labels, codes: new Codes(new Uint32Array(words), has ? facts.bits : 0) });
    head(facts);
    let missing = false;
    if (has && labels.length) {
      const number = labels.findIndex((label) => String(label) === String(wanted ?? facts.chosen ?? labels[0]));
      missing = number < 0;
      state.choose(Math.max(0, number));
      source.places(name, version).then((places) => mine === loads && state.showPlaces(places), missed);
    }
    byId("locked").hidden = true;
    byId("problem").hidden = true;
    if (missing) lost(wanted);
  } catch (error) {
    if (error.status === CHANGED && mine === loads) return load(name, wanted);
    failed(error);
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

// An address may name a class that is not there any more.
function lost(label) {
  const [one] = NAMES[state.facts.what];
  byId("problem").textContent = `There is no ${one} “${shown(label)}” in this model; it may have been removed.`;
  byId("problem").hidden = false;
}

// The map did not come; if the model has changed meanwhile, all of it is read again.
function missed(error) {
  if (error.status === CHANGED) again();
  else failed(error);
}

function head(facts) {
  document.title = `${facts.model} · dsnc`;
  byId("title").textContent = facts.model;
  byId("model").value = facts.model;
  const bits = facts.no_codes ? "no codes" : `${facts.bits} bits`;
  byId("headline").textContent = `${grouped(facts.classes)} ${facts.what} · ${bits} · version ${facts.version}`;
  const [one, many] = NAMES[facts.what];
  for (const word of document.querySelectorAll(".word-one")) word.textContent = one;
  for (const word of document.querySelectorAll(".word-many")) word.textContent = many;
  byId("search").placeholder = `Find a ${one}  ( / )`;
  for (const part of document.querySelectorAll("[data-needs=codes]")) part.hidden = Boolean(facts.no_codes);
  byId("no-codes").hidden = !facts.no_codes;
  byId("no-codes-why").textContent = facts.no_codes || "";
  document.body.classList.add("ready");
}

function failed(error) {
  const locked = error.status === 401;
  byId("locked").hidden = !locked;
  if (locked) {
    byId("token-problem").hidden = !source.token; // there was one, then, and it is wrong
    byId("token").select(); // and the focus goes there
  }
  if (!state.facts) byId("headline").textContent = "";
  byId("problem").hidden = locked;
  byId("problem").textContent = error.message;
}

// The service has another version of the model: show that one, at the same place.
function again(label) {
  const own = state.origin?.number;
  return load(state.facts.model, label ?? (own === undefined ? undefined : state.labels[own]));
}

async function begin() {
  try {
    const names = await source.models();
    fill(byId("model"), names.map((name) => el("option", { value: name }, name)));
    byId("models").hidden = names.length < 2;
    const asked = inAddress();
    await load(names.includes(asked.model) ? asked.model : names[0], asked.class);
  } catch (error) {
    failed(error);
  }
}

function inAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// The address has what is shown, so that it can be sent to somebody.
state.on("origin", () => {
  byId("problem").hidden = true; // it was about another class
  const { number } = state.origin;
  if (number === undefined) return;
  const parts = new URLSearchParams({ model: state.facts.model, class: String(state.labels[number]) });
  history.replaceState(null, "", `#${parts}`);
});

window.addEventListener("hashchange", () => {
  const asked = inAddress();
  const number = state.labels.findIndex((label) => String(label) === asked.class);
  if (asked.model !== state.facts?.model) begin();
  else if (asked.class !== undefined && state.codes.size) {
    if (number >= 0) state.choose(number);
    else lost(asked.class);
  }
});
byId("model").addEventListener("change", (event) => load(event.target.value));
byId("locked").addEventListener("submit", (event) => {
  event.preventDefault();
  source.token = byId("token").value.trim();
  begin();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  byId("search").focus();
});

const theme = new Theme();
for (const View of [Search, Bits, Nearest, About]) new View(state);
new MapView(state, theme);
new Tabs(state, source);
new Trial(state, source, again);
new Add(state, source, again);
begin();

// What the page is about at the moment: a model, and a code with where it came from.
import { Codes, flipped, hasBit } from "./codes.js";
import { shown } from "./dom.js";

const SHOWN = 12; // classes that are listed

export class State extends EventTarget {
  facts = null;
  labels = [];
  codes = new Codes(new Uint32Array(0), 0);
  places = null; // of the map, when they have come
  origin = null; // {number} of a class, or {title, bits} of a row that was tried
  code = null;
  start = null; // the code before bits were flipped
  distances = null;
  found = []; // numbers of classes, the nearest first
  bit = null; // that is looked at
  listed = SHOWN;

  show({ facts, labels, codes }) {
    this.facts = facts;
    this.labels = labels;
    this.codes = codes;
    this.places = null;
    this.origin = this.code = this.start = this.distances = this.bit = null;
    this.found = [];
    this._tell("model");
  }

  showPlaces(places) {
    this.places = places;
    this._tell("map");
  }

  choose(number) {
    this._begin({ number }, this.codes.of(number));
  }

  showRow(title, bits) {
    const text = bits.map((bit) => (bit.is_set ? "1" : "0")).join("");
    this._begin({ title, bits }, this.codes.fromBits(text));
  }

  _begin(origin, code) {
    this.origin = origin;
    this.start = code;
    this.listed = SHOWN;
    this._search(code);
    this._tell("origin");
    this._tell("code");
  }

  flip(bit) {
    this._search(flipped(this.code, bit));
    this._tell("code");
  }

  unflip() {
    this._search(this.start.slice());
    this._tell("code");
  }

  listMore() {
    this.listed *= 4;
    this._search(this.code);
    this._tell("code");
  }

  look(bit) {
    if (bit === this.bit) return;
    this.bit = bit;
    this._tell("bit");
  }

  _search(code) {
    this.code = code;
    this.distances = this.codes.distances(code);
    this.found = this.codes.nearest(this.distances, this.listed);
  }

  get title() {
    return this.origin.number === undefined ? this.origin.title : this.label(this.origin.number);
  }

  get flips() {
    let n = 0;
    for (let bit = 0; bit < this.codes.nBits; bit++) n += this.isFlipped(bit);
    return n;
  }

  isFlipped(bit) {
    return hasBit(this.code, bit) !== hasBit(this.start, bit);
  }

  label(number) {
    return shown(this.labels[number]);
  }

  _tell(what) {
    this.dispatchEvent(new Event(what));
  }

  on(names, handle) {
    for (const name of names.split(" ")) this.addEventListener(name, handle);
  }
}

// The map: every class a point, colored by how far its code is from the one that is looked at.
import { byId, say } from "./dom.js";
import { Hands } from "./hands.js";
import { Names } from "./names.js";
import { Grid, paint, paintingOrder } from "./raster.js";
import { View } from "./view.js";

const LEVELS = 64; // colors, from the code itself to far away
const MOST_PIXELS = 2_400_000;
const LABELED = 8; // nearest classes with their names
const FLIGHT = 350; // milliseconds
const FINGER = 22; // pixels that a finger may miss by, and a mouse
const MOUSE = 10;
const BUTTON = 1.6; // times larger

export class MapView {
  constructor(state, theme) {
    this.state = state;
    this.canvas = byId("map");
    this.stage = this.canvas.parentElement;
    this.names = new Names(byId("map-names"));
    this.view = new View();
    this.hovered = -1;
    this.radius = 1;
    this.colors = null;
    this.dirty = false;
    state.on("model", () => this._forget());
    state.on("map", () => this._begin());
    state.on("code bit", () => this._color());
    state.on("origin", () => this._bringIntoView());
    theme.addEventListener("change", () => {
      this.colors = null;
      this._paint();
    });
    new ResizeObserver(() => this._resize()).observe(this.stage);
    const zoom = (...how) => this._move(() => this.view.zoom(...how));
    const whole = () => this._move(() => this.view.whole());
    new Hands(this.stage, {
      zoom,
      whole,
      pan: (dx, dy) => this._move(() => this.view.pan(dx, dy)),
      hover: (at) => this._hover(at ? this._pick(...at, MOUSE) : -1),
      press: (x, y) => this._choose(this._pick(x, y, FINGER)),
      pressMiddle: () => this._chooseMiddle(),
    });
    byId("zoom-in").addEventListener("click", () => zoom(BUTTON));
    byId("zoom-out").addEventListener("click", () => zoom(1 / BUTTON));
    byId("zoom-whole").addEventListener("click", whole);
  }

  _forget() {
    this.places = this.levels = null;
    this.stage.dataset.shown = "nothing";
    this.hovered = -1;
    this._paint();
  }

  _begin() {
    this.places = this.state.places;
    this.grid = new Grid(this.places);
    this.view.whole();
    this._color();
    if (this.state.origin) this._bringIntoView();
  }

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    const sharp = Math.min(window.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (width * height)));
    this.view.resize({ width, height, sharp });
    for (const canvas of [this.canvas, this.names.canvas]) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
    }
    this.image = null;
    this._draw(); // at once: an empty canvas would be seen
  }

  _move(change) {
    if (!this.places || !this.view.size) return;
    change();
    this._paint();
  }

  placeOf(number) {
    return this.view.toScreen(this.places[2 * number], this.places[2 * number + 1]);
  }

  // Move so far that the class is seen, if it is not.
  _bringIntoView() {
    const { number } = this.state.origin;
    if (!this.places || !this.view.size || number === undefined) return;
    if (this.view.sees(...this.placeOf(number), MOUSE)) return;
    const goal = [this.places[2 * number], this.places[2 * number + 1]];
    const { width, height } = this.view.size;
    const from = this.view.toMap(width / 2, height / 2);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const step = (now) => {
      const part = still ? 1 : Math.min(1, Math.max(0, (now - begin) / FLIGHT));
      const eased = 1 - (1 - part) ** 3;
      this._move(() => this.view.center(...from.map((value, i) => value + eased * (goal[i] - value))));
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // How far each class is, or whether it has the bit: its level, and the order of painting.
  _color() {
    const { state } = this;
    if (!this.places) return;
    const n = this.places.length / 2;
    const levels = new Uint8Array(n);
    if (state.bit !== null) {
      const { words, width } = state.codes;
      const [word, shift] = [state.bit >> 5, state.bit & 31];
      for (let i = 0; i < n; i++) levels[i] = (words[i * width + word] >>> shift) & 1;
    } else if (state.distances) {
      const steps = levelsOf(state.distances, state.codes.nBits);
      for (let i = 0; i < n; i++) levels[i] = steps[state.distances[i]];
    } else levels.fill(LEVELS - 1);
    this.levels = levels;
    this.order = paintingOrder(levels, LEVELS - 1);
    byId("legend").dataset.shows = state.bit === null ? "distance" : "bit";
    this._paint();
  }

  _paint() {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => {
      this.dirty = false;
      this._draw();
    });
  }

  _draw() {
    if (!this.view.size) return;
    const { sharp } = this.view.size;
    const context = this.canvas.getContext("2d", { alpha: false });
    this.colors ??= palette(this.stage);
    this.image ??= context.createImageData(this.canvas.width, this.canvas.height);
    const view = { scale: this.view.scale * sharp, x: this.view.x * sharp, y: this.view.y * sharp };
    const has = Boolean(this.places && this.levels);
    const points = has ? [this.places, this.order, this.levels] : [[], [], []];
    const colors = this.state.bit === null ? this.colors.ramp : this.colors.sides;
    this.radius = has ? this._radius() : 1;
    paint(this.image, view, ...points, colors, this.radius * sharp, this.colors.ground);
    context.putImageData(this.image, 0, 0);
    this.stage.dataset.shown = has ? "map" : "nothing";
    this._drawNames();
  }

  _drawNames() {
    const { state, hovered } = this;
    const marked = state.code ? state.found.slice(0, LABELED) : [];
    const own = state.origin?.number;
    this.names.draw(this, { marked, own, hovered, label: (number) => state.label(number) });
  }

  // Points grow as they get room: by how many there are, and more slowly than the view.
  _radius() {
    const { size, scale, fit } = this.view;
    const room = Math.sqrt((size.width * size.height) / (this.places.length / 2));
    return Math.min(7, Math.max(0.9, 0.09 * room + 0.5) * (scale / fit) ** 0.42);
  }

  _pick(x, y, reach) {
    return this.places ? this.grid.at(...this.view.toMap(x, y), reach / this.view.scale) : -1;
  }

  _hover(number) {
    if (number === this.hovered || !this.places || !this.view.size) return;
    this.hovered = number;
    this.stage.classList.toggle("over", number >= 0);
    this._drawNames();
  }

  _choose(number) {
    if (number >= 0) this.state.choose(number);
    return number >= 0;
  }

  _chooseMiddle() {
    if (!this.view.size) return;
    const { width, height } = this.view.size;
    const number = this._pick(width / 2, height / 2, Math.max(width, height));
    if (this._choose(number)) say(`${this.state.label(number)} is chosen.`);
  }
}

// The level of each distance: from the nearest other code, which may be far, to that of half of them.
function levelsOf(distances, nBits) {
  const counts = new Uint32Array(nBits + 1);
  for (const distance of distances) counts[distance]++;
  let least = 1;
  while (least < nBits && !counts[least]) least++;
  let half = 0;
  for (let seen = 0; half < nBits && (seen += counts[half]) < distances.length / 2; ) half++;
  const span = Math.max(2, half - least);
  const level = (d) => Math.round((LEVELS - 1) * Math.min(1, d && 0.12 + (0.88 * Math.max(0, d - least)) / span));
  return Uint8Array.from(counts, (_, d) => level(d));
}

// The colors of the page, as they are now, for pixels and for lines.
function palette(stage) {
  const probe = document.createElement("i");
  stage.append(probe);
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  };
  const [near, middle, far, ground, ...sides] = ["--near", "--middle", "--far", "--ground", "--zero", "--one"].map(read);
  const lines = { ink: `rgb(${read("--ink")})`, mark: `rgb(${read("--mark")})`, halo: `rgb(${ground})` };
  probe.remove();
  const packed = ([r, g, b]) => (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
  const ramp = Uint32Array.from({ length: LEVELS }, (_, i) => {
    const at = (2 * i) / (LEVELS - 1);
    const [a, b, part] = at < 1 ? [near, middle, at] : [middle, far, at - 1];
    return packed(a.map((value, c) => value + part * (b[c] - value)));
  });
  return { ...lines, ramp, ground: packed(ground), sides: Uint32Array.from(sides, packed) };
}

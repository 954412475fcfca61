// The map: every class a point, colored by how far its code is from the one that is looked at.
import { byId, say } from "./dom.js";
import { Grid, paint, paintingOrder } from "./raster.js";

const EDGE = 65535; // of the map
const LEVELS = 64; // colors, from the code itself to far away
const MOST_PIXELS = 2_400_000;
const NEAREST = 400; // times, the closest view
const LABELED = 8; // nearest classes with their names
const FLIGHT = 350; // milliseconds
const FINGER = 22; // pixels that a finger may miss by
const CLOSE_UP = 60; // points in view that have all their names

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

export class MapView {
  constructor(state, theme) {
    this.state = state;
    this.canvas = byId("map");
    this.names = byId("map-names");
    this.hovered = -1;
    this.view = { x: 0, y: 0, scale: 1 };
    this.isWhole = true; // nobody has moved it
    this.colors = null;
    this.dirty = false;
    this.pointers = new Map();
    state.on("model", () => this._forget());
    state.on("map", () => this._begin());
    state.on("code bit", () => this._color());
    state.on("origin", () => this._bringIntoView());
    theme.addEventListener("change", () => {
      this.colors = null;
      this._color();
    });
    new ResizeObserver(() => this._resize()).observe(this.canvas.parentElement);
    this._listen();
  }

  _forget() {
    this.places = null;
    this.hovered = -1;
    this._draw();
  }

  _begin() {
    this.places = this.state.places;
    this.grid = new Grid(this.places);
    this._whole();
    this._color();
    if (this.state.origin) this._bringIntoView();
  }

  // -- what is where ------------------------------------------------------------------------------

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    const sharp = Math.min(window.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (width * height)));
    const middle = this.size && this._toMap(this.size.width / 2, this.size.height / 2);
    this.size = { width, height, sharp };
    for (const canvas of [this.canvas, this.names]) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
    }
    this.image = null;
    if (this.isWhole) this._whole();
    else this._center(...middle);
  }

  // Pixels of the screen for the width of the map, with some room around it.
  _fit() {
    return (Math.min(this.size.width, this.size.height) - 40) / EDGE;
  }

  _whole() {
    this.isWhole = true;
    if (!this.size) return;
    this.view.scale = this._fit();
    this._center(EDGE / 2, EDGE / 2);
  }

  _center(x, y) {
    this.view.x = this.size.width / 2 - x * this.view.scale;
    this.view.y = this.size.height / 2 - y * this.view.scale;
    this._paint();
  }

  _toMap(x, y) {
    return [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale];
  }

  _place(number) {
    const { x, y, scale } = this.view;
    return [this.places[2 * number] * scale + x, this.places[2 * number + 1] * scale + y];
  }

  _zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    if (!this.places) return;
    const fit = this._fit();
    const scale = Math.min(fit * NEAREST, Math.max(fit * 0.7, this.view.scale * factor));
    const [mapX, mapY] = this._toMap(x, y);
    this.isWhole = false;
    this.view = { scale, x: x - mapX * scale, y: y - mapY * scale };
    this._paint();
  }

  _pan(dx, dy) {
    this.isWhole = false;
    this.view.x += dx;
    this.view.y += dy;
    this._paint();
  }

  // Move so far that the class is seen, if it is not.
  _bringIntoView() {
    const { number } = this.state.origin;
    if (!this.places || !this.size || number === undefined) return;
    const [x, y] = this._place(number);
    const edge = 12;
    if (x > edge && y > edge && x < this.size.width - edge && y < this.size.height - edge) return;
    this.isWhole = false;
    const goal = [this.places[2 * number], this.places[2 * number + 1]];
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) this._center(...goal);
    else this._fly(goal);
  }

  _fly(goal) {
    const from = this._toMap(this.size.width / 2, this.size.height / 2);
    const begin = performance.now();
    const step = (now) => {
      const part = Math.min(1, Math.max(0, (now - begin) / FLIGHT));
      const eased = 1 - (1 - part) ** 3;
      this._center(...from.map((value, i) => value + eased * (goal[i] - value)));
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // -- painting -----------------------------------------------------------------------------------

  _palette() {
    const probe = document.createElement("i");
    this.canvas.parentElement.append(probe);
    const read = (name) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    const stops = [read("--near"), read("--middle"), read("--far")];
    const ground = read("--ground");
    const sides = [read("--zero"), read("--one")];
    this.ink = `rgb(${read("--ink")})`;
    this.mark = `rgb(${read("--mark")})`;
    probe.remove();
    const packed = ([r, g, b]) => (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
    const ramp = new Uint32Array(LEVELS);
    for (let i = 0; i < LEVELS; i++) {
      const at = (2 * i) / (LEVELS - 1);
      const [a, b] = at < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
      const part = at < 1 ? at : at - 1;
      ramp[i] = packed(a.map((value, c) => value + part * (b[c] - value)));
    }
    return { ramp, ground: packed(ground), halo: `rgb(${ground})`, sides: Uint32Array.from(sides, packed) };
  }

  // How far each class is: its level, and the order of painting.
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
    if (!this.size) return;
    const context = this.canvas.getContext("2d", { alpha: false });
    const { sharp } = this.size;
    this.colors ??= this._palette();
    this.image ??= context.createImageData(this.canvas.width, this.canvas.height);
    const view = { scale: this.view.scale * sharp, x: this.view.x * sharp, y: this.view.y * sharp };
    const has = this.places && this.levels;
    const colors = this.state.bit === null ? this.colors.ramp : this.colors.sides;
    const args = has ? [this.places, this.order, this.levels] : [[], [], []];
    this.radius = has ? this._radius() : 1;
    paint(this.image, view, ...args, colors, this.radius * sharp, this.colors.ground);
    context.putImageData(this.image, 0, 0);
    this.canvas.parentElement.dataset.shown = has ? "map" : "nothing";
    this._drawNames();
  }

  // Points grow as they get room: with the square root of the view, by how many there are.
  _radius() {
    const room = Math.sqrt((this.size.width * this.size.height) / (this.places.length / 2));
    const zoom = this.view.scale / this._fit();
    return Math.min(7, Math.max(0.9, 0.09 * room + 0.5) * zoom ** 0.42);
  }

  _drawNames() {
    const context = this.names.getContext("2d");
    const { width, height, sharp } = this.size;
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.places) return;
    context.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    const { state } = this;
    const taken = [];
    const marked = state.code ? state.found.slice(0, LABELED) : [];
    const own = state.origin?.number;
    for (const number of marked) this._ring(context, number, number === own ? 5 : 3);
    if (own !== undefined) this._ring(context, own, 5);
    if (this.hovered >= 0) this._ring(context, this.hovered, 4, this.ink);
    const first = [this.hovered, own, ...marked].filter((number) => number >= 0);
    for (const number of [...new Set(first)]) this._name(context, taken, number, number === own || number === this.hovered);
    for (const number of this._closeUp()) this._name(context, taken, number, false);
  }

  // All points in view, where they are few.
  _closeUp() {
    if (this.view.scale < 3 * this._fit() && this.places.length / 2 > CLOSE_UP) return [];
    const seen = [];
    const { width, height } = this.size;
    const { members } = this.grid;
    for (let k = 0; k < members.length; k++) {
      const [x, y] = this._place(members[k]);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      seen.push(members[k]);
      if (seen.length > CLOSE_UP) return [];
    }
    return seen;
  }

  _ring(context, number, more, color = this.mark) {
    const [x, y] = this._place(number);
    for (const [line, style] of [[4.5, this.colors.halo], [2, color]]) {
      context.beginPath();
      context.arc(x, y, this.radius + more, 0, 2 * Math.PI);
      context.lineWidth = line;
      context.strokeStyle = style;
      context.stroke();
    }
  }

  _name(context, taken, number, always) {
    const [x, y] = this._place(number);
    const { width, height } = this.size;
    if (x < -20 || y < -20 || x > width + 20 || y > height + 20) return;
    const label = this.state.label(number);
    const text = label.length > 34 ? `${label.slice(0, 33)}…` : label;
    const long = context.measureText(text).width;
    const gap = this.radius + 9;
    const left = x + gap + long < width - 4 ? x + gap : Math.max(4, x - gap - long);
    const box = [left - 3, y - 9, left + long + 3, y + 9];
    const meets = taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]);
    if (meets && !always) return;
    taken.push(box);
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.colors.halo;
    context.strokeText(text, left, y);
    context.fillStyle = this.ink;
    context.fillText(text, left, y);
  }

  // -- hands --------------------------------------------------------------------------------------

  _listen() {
    const stage = this.canvas.parentElement;
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = this._inside(event);
      this._zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), x, y);
    }, { passive: false });
    stage.addEventListener("pointerdown", (event) => {
      stage.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this._inside(event));
      this.moved = this.pointers.size > 1;
    });
    stage.addEventListener("pointermove", (event) => this._move(event));
    stage.addEventListener("pointerup", (event) => {
      const here = this._inside(event);
      if (this.pointers.delete(event.pointerId) && !this.moved) this._choose(...here);
    });
    stage.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    stage.addEventListener("pointerleave", () => this._hover(-1));
    stage.addEventListener("keydown", (event) => this._key(event));
    byId("zoom-in").addEventListener("click", () => this._zoom(1.6));
    byId("zoom-out").addEventListener("click", () => this._zoom(1 / 1.6));
    byId("zoom-whole").addEventListener("click", () => this.places && this._whole());
  }

  _inside(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  _move(event) {
    const [x, y] = this._inside(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this._hover(this._pick(x, y, 10));
      return;
    }
    const [dx, dy] = [x - before[0], y - before[1]];
    if (!this.moved && Math.hypot(dx, dy) < 4) return;
    this.moved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
      this._zoom(spread([x, y]) / spread(before), ...other);
    } else this._pan(dx, dy);
    this.pointers.set(event.pointerId, [x, y]);
  }

  _pick(x, y, reach) {
    if (!this.places) return -1;
    return this.grid.at(...this._toMap(x, y), reach / this.view.scale);
  }

  _hover(number) {
    if (number === this.hovered || !this.places) return;
    this.hovered = number;
    this.canvas.parentElement.classList.toggle("over", number >= 0);
    this._drawNames();
  }

  _choose(x, y) {
    const number = this._pick(x, y, FINGER);
    if (number >= 0) this.state.choose(number);
  }

  _key(event) {
    const far = 80;
    const moves = { ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
    if (event.ctrlKey || event.metaKey || event.altKey || !this.places) return;
    if (moves[event.key]) this._pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this._zoom(1.3);
    else if (event.key === "-") this._zoom(1 / 1.3);
    else if (event.key === "0") this._whole();
    else if (event.key === "Enter" || event.key === " ") {
      const number = this._pick(this.size.width / 2, this.size.height / 2, Math.max(this.size.width, this.size.height));
      if (number >= 0) {
        this.state.choose(number);
        say(`${this.state.label(number)} is chosen.`);
      }
    } else return;
    event.preventDefault();
  }
}


// Rings and names over the points of a map.

const CLOSE_UP = 60; // points in view that have all their names
const LONGEST = 34; // letters

export class Names {
  constructor(canvas) {
    this.canvas = canvas;
  }

  // map: where points are, and colors; marked: numbers, the most important first; own: one of them, or undefined.
  draw(map, { marked, own, hovered, label }) {
    const { width, height, sharp } = map.view.size;
    const context = this.canvas.getContext("2d");
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!map.places) return;
    context.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    Object.assign(this, { context, map, label, taken: [] });
    for (const number of marked) if (number !== own) this._ring(number, 3, map.colors.mark);
    if (own !== undefined) this._ring(own, 5, map.colors.mark);
    if (hovered >= 0) this._ring(hovered, 4, map.colors.ink);
    const first = [hovered, own, ...marked].filter((number) => number >= 0);
    for (const number of new Set(first)) this._name(number, number === own || number === hovered);
    for (const number of this._closeUp()) this._name(number, false);
  }

  // All points in view, where they are few.
  _closeUp() {
    const { view, places } = this.map;
    const n = places.length / 2;
    if (view.scale < 3 * view.fit && n > CLOSE_UP) return [];
    const seen = [];
    for (let i = 0; i < n; i++) {
      const x = places[2 * i] * view.scale + view.x;
      const y = places[2 * i + 1] * view.scale + view.y;
      if (view.sees(x, y) && seen.push(i) > CLOSE_UP) return [];
    }
    return seen;
  }

  _ring(number, more, color) {
    const { context, map } = this;
    const [x, y] = map.placeOf(number);
    for (const [line, style] of [[4.5, map.colors.halo], [2, color]]) {
      context.beginPath();
      context.arc(x, y, map.radius + more, 0, 2 * Math.PI);
      context.lineWidth = line;
      context.strokeStyle = style;
      context.stroke();
    }
  }

  // A name beside its point, unless another has the place.
  _name(number, always) {
    const { context, map, taken } = this;
    const { width } = map.view.size;
    const [x, y] = map.placeOf(number);
    if (!map.view.sees(x, y, -20)) return;
    const label = this.label(number);
    const text = label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
    const long = context.measureText(text).width;
    const gap = map.radius + 9;
    const left = x + gap + long < width - 4 ? x + gap : Math.max(4, x - gap - long);
    const box = [left - 3, y - 9, left + long + 3, y + 9];
    const meets = taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]);
    if (meets && !always) return;
    taken.push(box);
    context.lineWidth = 4;
    context.strokeStyle = map.colors.halo;
    context.strokeText(text, left, y);
    context.fillStyle = map.colors.ink;
    context.fillText(text, left, y);
  }
}

// What mouse, fingers and keys do to a map.

const STEP = 80; // pixels of an arrow key
const STILL = 4; // pixels that a press may move

// does: pan(dx, dy), zoom(factor, x, y), whole(), hover(x, y), press(x, y) and pressMiddle().
export class Hands {
  constructor(stage, does) {
    Object.assign(this, { stage, does });
    this.pointers = new Map();
    this.moved = false;
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      does.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...this._inside(event));
    }, { passive: false });
    stage.addEventListener("pointerdown", (event) => {
      stage.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this._inside(event));
      this.moved = this.pointers.size > 1;
    });
    stage.addEventListener("pointermove", (event) => this._move(event));
    stage.addEventListener("pointerup", (event) => {
      if (this.pointers.delete(event.pointerId) && !this.moved) does.press(...this._inside(event));
    });
    stage.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    stage.addEventListener("pointerleave", () => does.hover(null));
    stage.addEventListener("keydown", (event) => this._key(event));
  }

  _inside(event) {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  _move(event) {
    const [x, y] = this._inside(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.does.hover([x, y]);
    const [dx, dy] = [x - before[0], y - before[1]];
    if (!this.moved && Math.hypot(dx, dy) < STILL) return;
    this.moved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
      this.does.zoom(spread([x, y]) / spread(before), ...other);
    } else this.does.pan(dx, dy);
    this.pointers.set(event.pointerId, [x, y]);
  }

  _key(event) {
    const { does } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      ArrowLeft: () => does.pan(STEP, 0), ArrowRight: () => does.pan(-STEP, 0),
      ArrowUp: () => does.pan(0, STEP), ArrowDown: () => does.pan(0, -STEP),
      "+": () => does.zoom(1.3), "=": () => does.zoom(1.3), "-": () => does.zoom(1 / 1.3),
      0: does.whole, Enter: does.pressMiddle, " ": does.pressMiddle,
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}

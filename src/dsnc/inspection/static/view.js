// Which part of the map is seen, and where on the screen.

const EDGE = 65535; // of the map
const CLOSEST = 400; // times as large as the whole
const MARGIN = 40; // pixels around the whole

export class View {
  size = null; // of the screen, in pixels of the page
  scale = 1; // pixels for a step on the map
  x = 0; // of the map's corner
  y = 0;
  isWhole = true; // nobody has moved it

  resize(size) {
    const middle = this.size && this.toMap(this.size.width / 2, this.size.height / 2);
    this.size = size;
    if (this.isWhole) this.whole();
    else this.center(...middle);
  }

  get fit() {
    return (Math.min(this.size.width, this.size.height) - MARGIN) / EDGE;
  }

  whole() {
    this.isWhole = true;
    if (!this.size) return;
    this.scale = this.fit;
    this._center(EDGE / 2, EDGE / 2);
  }

  center(x, y) {
    this.isWhole = false;
    this._center(x, y);
  }

  _center(x, y) {
    this.x = this.size.width / 2 - x * this.scale;
    this.y = this.size.height / 2 - y * this.scale;
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const scale = Math.min(this.fit * CLOSEST, Math.max(this.fit * 0.7, this.scale * factor));
    const [mapX, mapY] = this.toMap(x, y);
    Object.assign(this, { scale, x: x - mapX * scale, y: y - mapY * scale, isWhole: false });
  }

  pan(dx, dy) {
    Object.assign(this, { x: this.x + dx, y: this.y + dy, isWhole: false });
  }

  toMap(x, y) {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  toScreen(x, y) {
    return [x * this.scale + this.x, y * this.scale + this.y];
  }

  sees(x, y, edge = 0) {
    return x > edge && y > edge && x < this.size.width - edge && y < this.size.height - edge;
  }
}

// Paints very many points into an image, faster than a canvas can be told to.

// The pixels of a disc: offsets, and how much of each is covered (1 to 256).
export function discStamp(radius) {
  const reach = Math.ceil(radius);
  const stamp = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0.03) stamp.push([dx, dy, Math.round(256 * cover)]);
    }
  }
  return stamp;
}

// places: x and y, 0 to 65535; view: scale and shift to pixels; order: which is painted first;
// levels: the color of each; colors: 0xBBGGRR.
export function paint(image, view, places, order, levels, colors, radius, ground) {
  const { width, height } = image;
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill((0xff000000 | ground) >>> 0);
  const stamp = discStamp(radius);
  const reach = Math.ceil(radius);
  const [n, offsets, covers] = [stamp.length, new Int32Array(stamp.length), new Int32Array(stamp.length)];
  stamp.forEach(([dx, dy, cover], i) => {
    offsets[i] = dy * width + dx;
    covers[i] = cover;
  });
  const { scale, x: left, y: top } = view;
  const [right, bottom] = [width - reach - 1, height - reach - 1];
  for (let k = 0; k < order.length; k++) {
    const i = order[k];
    const x = (places[2 * i] * scale + left + 0.5) | 0;
    const y = (places[2 * i + 1] * scale + top + 0.5) | 0;
    if (x < reach || y < reach || x > right || y > bottom) continue;
    const color = colors[levels[i]];
    const [r, g, b] = [color & 255, (color >> 8) & 255, color >> 16];
    const at = y * width + x;
    for (let s = 0; s < n; s++) {
      const cover = covers[s];
      const pixel = at + offsets[s];
      if (cover === 256) {
        pixels[pixel] = 0xff000000 | color;
        continue;
      }
      const was = pixels[pixel];
      const rest = 256 - cover;
      const red = (r * cover + (was & 255) * rest) >> 8;
      const green = (g * cover + ((was >> 8) & 255) * rest) >> 8;
      const blue = (b * cover + ((was >> 16) & 255) * rest) >> 8;
      pixels[pixel] = 0xff000000 | (blue << 16) | (green << 8) | red;
    }
  }
}

// Numbers in the order of falling levels, by counting: what is near is painted last.
export function paintingOrder(levels, highest) {
  const starts = new Uint32Array(highest + 2);
  for (const level of levels) starts[highest - level + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  const order = new Uint32Array(levels.length);
  for (let i = 0; i < levels.length; i++) order[starts[highest - levels[i]]++] = i;
  return order;
}

// Which points are where: cells of a grid over the map, to find the one under a finger.
export class Grid {
  static CELLS = 128;

  constructor(places) {
    this.places = places;
    const n = places.length / 2;
    this.starts = new Uint32Array(Grid.CELLS * Grid.CELLS + 1);
    const cells = new Uint16Array(n);
    for (let i = 0; i < n; i++) {
      cells[i] = (places[2 * i + 1] >> 9) * Grid.CELLS + (places[2 * i] >> 9);
      this.starts[cells[i] + 1]++;
    }
    for (let i = 1; i < this.starts.length; i++) this.starts[i] += this.starts[i - 1];
    const next = this.starts.slice();
    this.members = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.members[next[cells[i]]++] = i;
  }

  // The point nearest to a place of the map, no farther than `reach`; or -1.
  at(x, y, reach) {
    const clip = (value) => Math.min(Grid.CELLS - 1, Math.max(0, value >> 9));
    let [best, least] = [-1, reach * reach];
    for (let row = clip(y - reach); row <= clip(y + reach); row++) {
      const begin = this.starts[row * Grid.CELLS + clip(x - reach)];
      const end = this.starts[row * Grid.CELLS + clip(x + reach) + 1];
      for (let k = begin; k < end; k++) {
        const i = this.members[k];
        const square = (this.places[2 * i] - x) ** 2 + (this.places[2 * i + 1] - y) ** 2;
        if (square <= least && (square < least || best < 0)) [best, least] = [i, square];
      }
    }
    return best;
  }
}

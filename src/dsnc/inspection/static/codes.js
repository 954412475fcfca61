// Codes of classes, packed into words of 32 bits; exact search, ties by the number of the class.

export class Codes {
  constructor(words, nBits) {
    this.nBits = nBits;
    this.width = Math.ceil(nBits / 32);
    this.words = words;
    this.size = nBits ? words.length / this.width : 0;
  }

  of(number) {
    return this.words.slice(number * this.width, (number + 1) * this.width);
  }

  fromBits(text) {
    const code = new Uint32Array(this.width);
    for (let bit = 0; bit < this.nBits; bit++) if (text[bit] === "1") code[bit >> 5] |= 1 << (bit & 31);
    return code;
  }

  distances(code) {
    const { words, width, size } = this;
    const found = new Uint16Array(size);
    if (width === 1) {
      const one = code[0];
      for (let i = 0; i < size; i++) found[i] = ones(words[i] ^ one);
      return found;
    }
    for (let i = 0, at = 0; i < size; i++) {
      let distance = 0;
      for (let w = 0; w < width; w++, at++) distance += ones(words[at] ^ code[w]);
      found[i] = distance;
    }
    return found;
  }

  // The numbers of the k nearest, of all distances: by counting, in the order of (distance, number).
  nearest(distances, k) {
    const counts = new Uint32Array(this.nBits + 2);
    for (const distance of distances) counts[distance + 1]++;
    for (let d = 1; d < counts.length; d++) counts[d] += counts[d - 1];
    const wanted = Math.min(k, distances.length);
    const found = new Array(wanted);
    for (let i = 0; i < distances.length; i++) {
      const place = counts[distances[i]]++;
      if (place < wanted) found[place] = i;
    }
    return found;
  }
}

function ones(x) {
  x -= (x >>> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return (((x + (x >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

export const hasBit = (code, bit) => ((code[bit >> 5] >>> (bit & 31)) & 1) === 1;

export function flipped(code, bit) {
  const other = code.slice();
  other[bit >> 5] ^= 1 << (bit & 31);
  return other;
}

export function separating(a, b, nBits) {
  const bits = [];
  for (let bit = 0; bit < nBits; bit++) if (hasBit(a, bit) !== hasBit(b, bit)) bits.push(bit);
  return bits;
}

// As `dsnc encode` writes it: bit 0 is the first.
export function hexOf(code, nBits) {
  let text = "";
  for (let bit = 0; bit < 8 * Math.ceil(nBits / 8); bit += 4) {
    let digit = 0;
    for (let i = 0; i < 4; i++) digit = 2 * digit + (bit + i < nBits && hasBit(code, bit + i) ? 1 : 0);
    text += digit.toString(16);
  }
  return text;
}

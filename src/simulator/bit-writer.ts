/** Bits in a row, the highest first, as sound formats pack them. */
export interface BitWriter {
  put(value: number, bits: number): void;
  readonly bits: number;
  /** What was put, with zeros up to `bytes` or, without it, to the next whole byte. */
  bytes(bytes?: number): Buffer;
}

export function createBitWriter(): BitWriter {
  const kept: number[] = [];
  return {
    put(value, bits) {
      for (let bit = bits - 1; bit >= 0; bit -= 1) kept.push(Math.floor(value / 2 ** bit) % 2);
    },
    get bits() {
      return kept.length;
    },
    bytes(bytes = Math.ceil(kept.length / 8)) {
      const packed = Buffer.alloc(bytes);
      for (const [at, bit] of kept.entries()) packed[at >> 3]! |= bit << (7 - (at & 7));
      return packed;
    },
  };
}

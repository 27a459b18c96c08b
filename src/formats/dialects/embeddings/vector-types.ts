import type { VectorEncoding, VectorType } from '../../neutral/embedding.ts';

type Row = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** Vectors of any provider in the small types of Cohere. */
export const smallVector: Readonly<Record<Exclude<VectorType, VectorEncoding>, (row: Row) => number[]>> = {
  int8: scaled,
  uint8: (row) => scaled(row).map((value) => value + 128),
  ubinary: signBits,
  binary: (row) => signBits(row).map((byte) => byte - 128),
};

/**
 * Whole numbers from -127 to 127. The largest number of each vector is the scale, as no provider gives the range of its
 * model: angles between vectors stay the same, whichever requests they came in.
 */
function scaled(row: Row): number[] {
  let largest = 0;
  for (const value of row) largest = Math.max(largest, Math.abs(value));
  // JSON would have -0, and a vector of zeros has no scale.
  return Array.from(row, (value) => (largest === 0 ? 0 : Math.round((value / largest) * 127) + 0));
}

/** A bit for each number, 1 where it is above 0, the first in the highest place of the first byte. */
function signBits(row: Row): number[] {
  const bytes = new Array<number>(Math.ceil(row.length / 8)).fill(0);
  for (const [at, value] of row.entries()) {
    if (value > 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  }
  return bytes;
}

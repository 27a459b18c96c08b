import type { LinearMemory } from './linear-memory.ts';

/** `width`: bytes of a vector; `stride`: bytes from row to row; `out`: f32 a row. */
type FloatKernel = (query: number, rows: number, stride: number, count: number, width: number, out: number) => void;

/**
 * The loops that searches spend their time in. All offsets and widths are bytes of the memory that the kernels were
 * loaded for, multiples of 16 (rows and results of 4); the .wat files describe the formats.
 */
export interface Kernels {
  dotF32: FloatKernel;
  /** Sum of squared differences. */
  squaresF32: FloatKernel;
  /** Sum of absolute differences. */
  absoluteF32: FloatKernel;
  /** `query`: i16 codes worth `step` each; `width`: components, a multiple of 32; `out`: f32 a row. */
  dotI8(query: number, step: number, rows: number, stride: number, count: number, width: number, out: number): void;
  /** The same as `dotI8`, for rows anywhere. `rows`, `outs`: i32 for each, the address of a row and of its result. */
  dotI8At(query: number, step: number, rows: number, outs: number, count: number, width: number): void;
  /** `vector`: f32; writes `width` codes, f32 scale, f32 length of the codes' error. */
  encodeI8(vector: number, width: number, row: number): void;
  /** `vector`: f32; writes `width` i16 codes, the largest of which is `most` steps; gives the step, 0 where all are 0. */
  encodeI16(vector: number, width: number, most: number, codes: number): number;
  /** `codes`: a row that `encodeI8` wrote; `mean`: f32; writes `width / 8` bytes. */
  encodeBits(codes: number, width: number, mean: number, bits: number): void;
  /** `width`: bytes of a row; `out`: i32 a row; `counts`: i32 for each distance, added to. */
  differingBits(query: number, rows: number, count: number, width: number, out: number, counts: number): void;
  /** The same as `differingBits`, for rows anywhere. `rows`: i32 for each, its address. */
  differingBitsAt(query: number, rows: number, count: number, width: number, out: number, counts: number): void;
  /**
   * Writes over `count` distances (i32) the numbers of those below `edge` and of the first ones that are it, from `first` on;
   * gives how many these are. `room`: of an i32, how many may be it, from which those that were are taken.
   */
  pickNearest(distances: number, count: number, first: number, edge: number, room: number): number;
}

/** The kernels in plain JavaScript: they agree with the assembled ones, and replace them where those do not run. */
export function createScalarKernels(memory: LinearMemory): Kernels {
  const f32 = (at: number, length: number) => new Float32Array(memory.buffer, at >>> 0, length);
  const i8 = (at: number, length: number) => new Int8Array(memory.buffer, at >>> 0, length);
  const i16 = (at: number, length: number) => new Int16Array(memory.buffer, at >>> 0, length);
  const i32 = (at: number, length: number) => new Int32Array(memory.buffer, at >>> 0, length);
  const u32 = (at: number, length: number) => new Uint32Array(memory.buffer, at >>> 0, length);
  const u8 = (at: number, length: number) => new Uint8Array(memory.buffer, at >>> 0, length);

  function product(query: number, step: number, row: number, width: number, out: number): void {
    const q = i16(query, width);
    const codes = i8(row, width);
    let sum = 0;
    for (let i = 0; i < width; i += 1) sum += q[i]! * codes[i]!;
    f32(out, 1)[0] = sum * step * f32(row + width, 1)[0]!;
  }

  function difference(query: number, row: number, width: number, out: number, counts: number): void {
    const [q, p] = [u8(query, width), u8(row, width)];
    let differing = 0;
    for (let i = 0; i < width; i += 1) differing += ones[q[i]! ^ p[i]!]!;
    u32(out, 1)[0] = differing;
    u32(counts, width * 8 + 1)[differing]! += 1;
  }

  function overRows(term: (a: number, b: number) => number): Kernels['dotF32'] {
    return (query, rows, stride, count, width, out) => {
      const q = f32(query, width / 4);
      const results = f32(out, count);
      for (let row = 0; row < count; row += 1) {
        const p = f32(rows + row * stride, width / 4);
        let sum = 0;
        for (let i = 0; i < q.length; i += 1) sum += term(q[i]!, p[i]!);
        results[row] = sum;
      }
    };
  }

  return {
    dotF32: overRows((a, b) => a * b),
    squaresF32: overRows((a, b) => (a - b) * (a - b)),
    absoluteF32: overRows((a, b) => Math.abs(a - b)),
    dotI8(query, step, rows, stride, count, width, out) {
      for (let row = 0; row < count; row += 1) product(query, step, rows + row * stride, width, out + row * 4);
    },
    dotI8At(query, step, rows, outs, count, width) {
      const [at, to] = [u32(rows, count), u32(outs, count)];
      for (let row = 0; row < count; row += 1) product(query, step, at[row]!, width, to[row]!);
    },
    encodeI8(vector, width, row) {
      const x = f32(vector, width);
      const codes = i8(row, width);
      let top = 0;
      for (const component of x) top = Math.max(top, Math.abs(component));
      const scale = top > 1e-30 ? Math.fround(top / 127) : 0;
      const inverse = top > 1e-30 ? Math.fround(127 / top) : 0;
      let wrong = 0;
      for (let i = 0; i < width; i += 1) {
        const steps = nearestEven(Math.fround(x[i]! * inverse));
        codes[i] = Math.max(-128, Math.min(127, steps));
        wrong += (x[i]! - steps * scale) ** 2;
      }
      const meta = f32(row + width, 2);
      meta[0] = scale;
      meta[1] = Math.sqrt(wrong);
    },
    encodeI16(vector, width, most, codes) {
      const x = f32(vector, width);
      let top = 0;
      for (const component of x) top = Math.max(top, Math.abs(component));
      const step = top / most;
      const out = i16(codes, width);
      for (let i = 0; i < width; i += 1) out[i] = step === 0 ? 0 : nearestEven(x[i]! / step);
      return step;
    },
    encodeBits(codes, width, mean, bits) {
      const scale = f32(codes + width, 1)[0]!;
      const x = i8(codes, width);
      const means = f32(mean, width);
      const out = u8(bits, width / 8).fill(0);
      for (let i = 0; i < width; i += 1) {
        if (Math.fround(x[i]! * scale) > means[i]!) out[i >> 3] = out[i >> 3]! | (1 << (i & 7));
      }
    },
    differingBits(query, rows, count, width, out, counts) {
      for (let row = 0; row < count; row += 1) difference(query, rows + row * width, width, out + row * 4, counts);
    },
    pickNearest(distances, count, first, edge, room) {
      const list = u32(distances, count);
      let found = 0;
      let [left] = i32(room, 1);
      for (const [at, distance] of list.entries()) {
        const isIn = distance < edge || (distance === edge && left! > 0);
        list[found] = first + at;
        if (isIn) found += 1;
        if (distance === edge) left! -= 1;
      }
      i32(room, 1)[0] = left!;
      return found;
    },
    differingBitsAt(query, rows, count, width, out, counts) {
      for (const [row, at] of u32(rows, count).entries()) difference(query, at, width, out + row * 4, counts);
    },
  };
}

/** Bits set in each byte. */
const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Rounds as the machine does: halves to the even neighbour. */
function nearestEven(x: number): number {
  const down = Math.floor(x);
  const over = x - down;
  if (over < 0.5) return down;
  if (over > 0.5) return down + 1;
  return down % 2 === 0 ? down : down + 1;
}

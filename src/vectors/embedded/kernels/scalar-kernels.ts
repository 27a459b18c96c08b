import type { Kernels } from './kernels.ts';
import type { LinearMemory } from './linear-memory.ts';

/**
 * The kernels in plain JavaScript: the assembled ones must agree with them, and they replace them where those do not
 * run.
 */
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

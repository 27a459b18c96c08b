import { kernelBytes } from './kernel-bytes.ts';
import { createLinearMemory, instantiate, type LinearMemory } from './linear-memory.ts';
import { createScalarKernels, type Kernels } from './scalar-kernels.ts';

export interface LoadedKernels {
  kernels: Kernels;
  /** Why the slow ones replace the assembled ones; null when they do not. */
  warning: string | null;
}

/** Kernels for `memory`; never throws. They are tried on a small input first, and the scalar ones used when they differ. */
export function loadKernels(memory: LinearMemory, assembled: typeof kernelBytes = kernelBytes): LoadedKernels {
  try {
    const wrong = selfCheck(assembled);
    if (wrong === null) return { kernels: link(assembled, memory), warning: null };
    return fallback(memory, `${wrong} computes wrongly on this machine`);
  } catch (error) {
    return fallback(
      memory,
      `the machine does not run them (${error instanceof Error ? error.message : String(error)})`,
    );
  }
}

function fallback(memory: LinearMemory, why: string): LoadedKernels {
  const warning = `Vector kernels are off, searches are slower: ${why}.`;
  return { kernels: createScalarKernels(memory), warning };
}

function link(assembled: typeof kernelBytes, memory: LinearMemory): Kernels {
  const parts = [assembled.f32, assembled.i8, assembled.bits];
  return Object.assign({}, ...parts.map((part) => instantiate(part, memory))) as Kernels;
}

/** The first kernel that does not agree with its scalar twin; null when all do. */
function selfCheck(assembled: typeof kernelBytes): string | null {
  const [memory, twin] = [createLinearMemory(1, true), createLinearMemory(1)];
  const [real, scalar] = [link(assembled, memory), createScalarKernels(twin)];
  for (const each of [memory, twin]) {
    // Small multiples of 1/8: sums are exact, so both must give the same bits.
    const floats = new Float32Array(each.buffer, 0, 96);
    for (let i = 0; i < floats.length; i += 1) floats[i] = (((i * 37) % 41) - 20) / 8;
    const codes = new Int16Array(each.buffer, 1_024, 64);
    for (let i = 0; i < codes.length; i += 1) codes[i] = ((i * 53) % 401) - 200;
    new Int32Array(each.buffer, 6_144, 4).set([2_048, 4_256, 32, 0]);
  }
  const steps: Record<keyof Kernels, (k: Kernels) => void> = {
    dotF32: (k) => k.dotF32(0, 0, 192, 2, 192, 4_096),
    squaresF32: (k) => k.squaresF32(0, 0, 192, 2, 192, 4_128),
    absoluteF32: (k) => k.absoluteF32(0, 0, 192, 2, 192, 4_160),
    encodeI8: (k) => k.encodeI8(0, 64, 2_048),
    dotI8: (k) => k.dotI8(1_024, 0.5, 2_048, 96, 1, 64, 4_192),
    dotI8At: (k) => k.dotI8At(1_024, 0.5, 6_144, 6_148, 1, 64),
    encodeI16: (k) => void k.encodeI16(0, 64, 32_767, 5_376),
    encodeBits: (k) => k.encodeBits(2_048, 64, 128, 3_072),
    differingBits: (k) => k.differingBits(0, 16, 3, 16, 4_224, 5_120),
    differingBitsAt: (k) => k.differingBitsAt(0, 6_152, 2, 16, 4_272, 7_168),
    pickNearest: (k) => k.pickNearest(4_224, 3, 7, 60, 6_156),
  };
  for (const [name, step] of Object.entries(steps)) {
    step(real);
    step(scalar);
    if (!sameFloats(memory, twin)) return name;
  }
  return null;
}

/** Bytes alike, or as floats so near that only the order of adding can be why. */
function sameFloats(memory: LinearMemory, twin: LinearMemory): boolean {
  // Nearly always. Word by word, they take 6 ms of a start.
  if (Buffer.from(memory.buffer).equals(Buffer.from(twin.buffer))) return true;
  const [a, b] = [new Float32Array(memory.buffer), new Float32Array(twin.buffer)];
  const [c, d] = [new Uint32Array(memory.buffer), new Uint32Array(twin.buffer)];
  return c.every((word, i) => word === d[i] || Math.abs(a[i]! - b[i]!) <= 1e-5 * Math.abs(b[i]!));
}

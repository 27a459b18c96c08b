import { createLinearMemory, instantiate, type LinearMemory } from './linear-memory.ts';
import { createScalarKernels } from './scalar-kernels.ts';

/**
 * The loops that searches spend their time in. All places and widths are bytes of the memory that the kernels were loaded
 * for, multiples of 16 (rows and results of 4); the formats are described in the .wat files.
 */
export interface Kernels {
  dotF32: FloatKernel;
  /** Sum of squared differences. */
  squaresF32: FloatKernel;
  /** Sum of absolute differences. */
  absoluteF32: FloatKernel;
  /** `query`: i16 codes worth `step` each; `width`: components, a multiple of 32; `out`: f32 a row. */
  dotI8(query: number, step: number, rows: number, stride: number, count: number, width: number, out: number): void;
  /** `vector`: f32; writes `width` codes, f32 scale, f32 length of what the codes miss. */
  encodeI8(vector: number, width: number, row: number): void;
  /** `codes`: a row that `encodeI8` wrote; `mean`: f32; writes `width / 8` bytes. */
  encodeBits(codes: number, width: number, mean: number, bits: number): void;
  /** `width`: bytes of a row; `out`: i32 a row; `counts`: i32 for each distance, added to. */
  differingBits(query: number, rows: number, count: number, width: number, out: number, counts: number): void;
}

/** `width`: bytes of a vector; `stride`: bytes from row to row; `out`: f32 a row. */
type FloatKernel = (query: number, rows: number, stride: number, count: number, width: number, out: number) => void;

export interface LoadedKernels {
  kernels: Kernels;
  /** Why the slow ones stand in for the assembled ones; null when they do not. */
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
  const [memory, twin] = [createLinearMemory(1), createLinearMemory(1)];
  const [real, scalar] = [link(assembled, memory), createScalarKernels(twin)];
  for (const each of [memory, twin]) {
    // Small multiples of 1/8: sums are exact, so both must give the same bits.
    const floats = new Float32Array(each.buffer, 0, 96);
    for (let i = 0; i < floats.length; i += 1) floats[i] = (((i * 37) % 41) - 20) / 8;
    const codes = new Int16Array(each.buffer, 1_024, 64);
    for (let i = 0; i < codes.length; i += 1) codes[i] = ((i * 53) % 401) - 200;
  }
  const steps: Record<keyof Kernels, (k: Kernels) => void> = {
    dotF32: (k) => k.dotF32(0, 0, 192, 2, 192, 4_096),
    squaresF32: (k) => k.squaresF32(0, 0, 192, 2, 192, 4_128),
    absoluteF32: (k) => k.absoluteF32(0, 0, 192, 2, 192, 4_160),
    encodeI8: (k) => k.encodeI8(0, 64, 2_048),
    dotI8: (k) => k.dotI8(1_024, 0.5, 2_048, 96, 1, 64, 4_192),
    encodeBits: (k) => k.encodeBits(2_048, 64, 128, 3_072),
    differingBits: (k) => k.differingBits(0, 16, 3, 16, 4_224, 5_120),
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
  const [a, b] = [new Float32Array(memory.buffer), new Float32Array(twin.buffer)];
  const [c, d] = [new Uint32Array(memory.buffer), new Uint32Array(twin.buffer)];
  return c.every((word, i) => word === d[i] || Math.abs(a[i]! - b[i]!) <= 1e-5 * Math.abs(b[i]!));
}

// Written by scripts/build-kernels.mjs from the .wat files beside it.
export const kernelBytes = {
  // 1212 bytes
  f32: 'AGFzbQEAAAABDwJgAXsBfWAGf39/f39/AAIRAQVhcmVuYQZtZW1vcnkCAAEDBQQAAQEBByUDBmRvdEYzMgABCnNxdWFyZXNGMzIAAgthYnNvbHV0ZUYzMgADCt8IBBkAIAD9HwAgAP0fAZIgAP0fAiAA/R8DkpIL1gICBH8EeyADRQRADwsgACAEQUBxaiEIIAAgBGohCQNAIAEhBiAAIQf9DAAAAAAAAAAAAAAAAAAAAAAhCv0MAAAAAAAAAAAAAAAAAAAAACEL/QwAAAAAAAAAAAAAAAAAAAAAIQz9DAAAAAAAAAAAAAAAAAAAAAAhDQJAA0AgByAIRg0BIAogB/0ABAAgBv0ABAD95gH95AEhCiALIAf9AAQQIAb9AAQQ/eYB/eQBIQsgDCAH/QAEICAG/QAEIP3mAf3kASEMIA0gB/0ABDAgBv0ABDD95gH95AEhDSAGQcAAaiEGIAdBwABqIQcMAAsLAkADQCAHIAlGDQEgCiAH/QAEACAG/QAEAP3mAf3kASEKIAZBEGohBiAHQRBqIQcMAAsLIAogC/3kASAMIA395AH95AEhCiAFIAoQADgCACAFQQRqIQUgASACaiEBIANBAWsiAw0ACwuDAwIEfwV7IANFBEAPCyAAIARBQHFqIQggACAEaiEJA0AgASEGIAAhB/0MAAAAAAAAAAAAAAAAAAAAACEK/QwAAAAAAAAAAAAAAAAAAAAAIQv9DAAAAAAAAAAAAAAAAAAAAAAhDP0MAAAAAAAAAAAAAAAAAAAAACENAkADQCAHIAhGDQEgB/0ABAAgBv0ABAD95QEhDiAKIA4gDv3mAf3kASEKIAf9AAQQIAb9AAQQ/eUBIQ4gCyAOIA795gH95AEhCyAH/QAEICAG/QAEIP3lASEOIAwgDiAO/eYB/eQBIQwgB/0ABDAgBv0ABDD95QEhDiANIA4gDv3mAf3kASENIAZBwABqIQYgB0HAAGohBwwACwsCQANAIAcgCUYNASAH/QAEACAG/QAEAP3lASEOIAogDiAO/eYB/eQBIQogBkEQaiEGIAdBEGohBwwACwsgCiAL/eQBIAwgDf3kAf3kASEKIAUgChAAOAIAIAVBBGohBSABIAJqIQEgA0EBayIDDQALC+UCAgR/BHsgA0UEQA8LIAAgBEFAcWohCCAAIARqIQkDQCABIQYgACEH/QwAAAAAAAAAAAAAAAAAAAAAIQr9DAAAAAAAAAAAAAAAAAAAAAAhC/0MAAAAAAAAAAAAAAAAAAAAACEM/QwAAAAAAAAAAAAAAAAAAAAAIQ0CQANAIAcgCEYNASAKIAf9AAQAIAb9AAQA/eUB/eAB/eQBIQogCyAH/QAEECAG/QAEEP3lAf3gAf3kASELIAwgB/0ABCAgBv0ABCD95QH94AH95AEhDCANIAf9AAQwIAb9AAQw/eUB/eAB/eQBIQ0gBkHAAGohBiAHQcAAaiEHDAALCwJAA0AgByAJRg0BIAogB/0ABAAgBv0ABAD95QH94AH95AEhCiAGQRBqIQYgB0EQaiEHDAALCyAKIAv95AEgDCAN/eQB/eQBIQogBSAKEAA4AgAgBUEEaiEFIAEgAmohASADQQFrIgMNAAsL',
  // 712 bytes
  i8: 'AGFzbQEAAAABFgNgAXsBfWAHf31/f39/fwBgA39/fwACEQEFYXJlbmEGbWVtb3J5AgABAwQDAAECBxQCBWRvdEk4AAEIZW5jb2RlSTgAAgr2BAMZACAA/R8AIAD9HwGSIAD9HwIgAP0fA5KSC+oBAgN/AnsgBEUEQA8LA0AgAiEHIAIgBWohCSAAIQj9DAAAAAAAAAAAAAAAAAAAAAAhCv0MAAAAAAAAAAAAAAAAAAAAACELA0AgCiAH/QEDACAI/QAEAP26Af2uASEKIAsgB/0BAwggCP0ABBD9ugH9rgEhCyAKIAf9AQMQIAj9AAQg/boB/a4BIQogCyAH/QEDGCAI/QAEMP26Af2uASELIAhBwABqIQggB0EgaiIHIAlHDQALIAYgCv36ASAL/foB/eQBEAAgAZQgCSoCAJQ4AgAgBkEEaiEGIAIgA2ohAiAEQQFrIgQNAAsL7QIEAn8BewJ9C3sgACEDIAAgAUECdGohBANAIAUgA/0ABAD94AH96QEhBSADQRBqIgMgBEcNAAsgBf0fACAF/R8BlyAF/R8CIAX9HwOXlyEGIAZDYEKiDV4EQCAGQwAA/kKVIQdDAAD+QiAGlf0TIQggB/0TIQkLIAAhAwNAIAP9AAQAIgsgCP3mAf1qIQ8gA/0ABBAiDCAI/eYB/WohECAD/QAEICINIAj95gH9aiERIAP9AAQwIg4gCP3mAf1qIRIgAiAP/fgBIBD9+AH9hQEgEf34ASAS/fgB/YUB/WX9CwQAIAsgDyAJ/eYB/eUBIQsgDCAQIAn95gH95QEhDCANIBEgCf3mAf3lASENIA4gEiAJ/eYB/eUBIQ4gCiALIAv95gEgDCAM/eYB/eQBIA0gDf3mASAOIA795gH95AH95AH95AEhCiACQRBqIQIgA0HAAGoiAyAERw0ACyACIAc4AgAgAiAKEACROAIECw==',
  // 402 bytes
  bits: 'AGFzbQEAAAABEQJgBH9/f38AYAZ/f39/f38AAhEBBWFyZW5hBm1lbW9yeQIAAQMDAgABBx4CCmVuY29kZUJpdHMAAA1kaWZmZXJpbmdCaXRzAAEKvAICpgECAX8DeyAAIAFqIQQgBP0JAgAhBQNAIAD9AQMAIQYgAP0BAwghByADIAb9pwH9+gEgBf3mASAC/QAEAP1EIAb9qAH9+gEgBf3mASAC/QAEEP1E/YUBIAf9pwH9+gEgBf3mASAC/QAEIP1EIAf9qAH9+gEgBf3mASAC/QAEMP1E/YUB/WX9ZDsBACADQQJqIQMgAkHAAGohAiAAQRBqIgAgBEcNAAsLkQEDAn8CfgF/IAJFBEAPCyAAIANqIQcDQCAAIQZCACEIQgAhCQNAIAggASkDACAGKQMAhXt8IQggCSABKQMIIAYpAwiFe3whCSABQRBqIQEgBkEQaiIGIAdHDQALIAQgCCAJfKciCjYCACAFIApBAnRqIQogCiAKKAIAQQFqNgIAIARBBGohBCACQQFrIgINAAsL',
};

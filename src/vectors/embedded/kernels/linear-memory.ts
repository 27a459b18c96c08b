/** The used part of WebAssembly. Node has it, but its types come only with a browser's. */
declare const WebAssembly: {
  Memory: new (limits: { initial: number; maximum: number }) => LinearMemory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { arena: { memory: LinearMemory } }) => { exports: object };
};

/** Memory that kernels compute in. `buffer` is another object after each growth; the old one is empty then. */
export interface LinearMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export const pageBytes = 65_536;

/** Most pages of a 32-bit memory; the last one stays out, so that no end of a block is 2^32. */
export const pagesMax = 65_535;

/** Reserves address space (8 GB each in V8), and memory only as it grows. */
export function createLinearMemory(maxPages: number): LinearMemory {
  return new WebAssembly.Memory({ initial: 1, maximum: maxPages });
}

/** Throws where the machine lacks what the module needs (SIMD). */
export function instantiate(base64: string, memory: LinearMemory): object {
  return new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(base64, 'base64')), { arena: { memory } }).exports;
}

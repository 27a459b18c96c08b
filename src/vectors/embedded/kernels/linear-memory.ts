/** The used part of WebAssembly. Node has it, but its types come only with a browser's. */
declare const WebAssembly: {
  Memory: new (limits: { initial: number; maximum: number; shared?: boolean }) => LinearMemory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { arena: { memory: LinearMemory } }) => { exports: object };
};

/**
 * Memory that kernels compute in. `buffer` is another object after each growth; the old one is empty then, or ends where it
 * ended where the memory is shared.
 */
export interface LinearMemory {
  readonly buffer: ArrayBufferLike;
  grow(pages: number): number;
}

export const pageBytes = 65_536;

/** Most pages of a 32-bit memory; the last one stays out, so that no end of a block is 2^32. */
export const pagesMax = 65_535;

/**
 * Reserves address space (8 GB each in V8), and memory only as it grows. `shared`: other threads may compute in it, too, and
 * kernels must say so that they do.
 */
export function createLinearMemory(maxPages: number, shared = false): LinearMemory {
  return new WebAssembly.Memory({ initial: 1, maximum: maxPages, shared });
}

/** Throws where the machine lacks what the module needs (SIMD). */
export function instantiate(base64: string, memory: LinearMemory): object {
  return new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(base64, 'base64')), { arena: { memory } }).exports;
}

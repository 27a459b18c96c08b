/** Unused memory that is kept for the next bodies. */
const freeBytesMax = 64 * 1024 * 1024;

/**
 * Memory for large bodies, used again and again. A body that is given its own and moved to a thread makes V8 collect the
 * whole heap of the main thread for nearly every one of them (measured: 5-18 ms of the loop for 10 MB, 55 times in 60).
 */
export type BodyMemory = ReturnType<typeof createBodyMemory>;

export function createBodyMemory() {
  const free: SharedArrayBuffer[] = [];
  let freeBytes = 0;

  return {
    /** It may hold bytes of another body. Both threads see it; it is moved to neither. */
    take(bytes: number): SharedArrayBuffer {
      const sizeBytes = 2 ** Math.ceil(Math.log2(bytes));
      const held = free.find((one) => one.byteLength === sizeBytes);
      // The system gives it page by page as it is written: an announced size alone takes none.
      if (held === undefined) return new SharedArrayBuffer(sizeBytes);
      freeBytes -= sizeBytes;
      free.splice(free.indexOf(held), 1);
      return held;
    },
    /** Nobody reads or writes it any more. */
    give(memory: SharedArrayBuffer): void {
      if (freeBytes + memory.byteLength > freeBytesMax) return;
      freeBytes += memory.byteLength;
      free.push(memory);
    },
  };
}

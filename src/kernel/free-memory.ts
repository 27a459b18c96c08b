/**
 * Gives back memory that nobody uses any more. Left to V8, memory outside its heap makes it collect the whole heap
 * again and again: 60 KB of rows per search cost 0.3 ms of CPU for collections. Shared memory stays.
 */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

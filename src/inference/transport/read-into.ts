import type { OnReadOpts } from 'node:net';

/** What one read takes at most. */
const readBytesMax = 64 * 1024;

/** All sockets read into it, one after the other: what came is copied out before the next one reads. */
const landing = Buffer.allocUnsafeSlow(readBytesMax);
/**
 * Whoever keeps a piece keeps its block. A block holds what came over one socket only: what waits for a slow reader, or
 * stands in a stream that stands still, then keeps little more than itself, whatever the others read meanwhile.
 */
const blockBytes = 8 * 1024;

/**
 * Reading for `net.connect`, by a copy: otherwise node allocates 64 KB of its own for each read, shrinks it to what came
 * and has a thread free it again, which costs more. Small pieces share a block, which is never written again where it
 * has been given out: pieces may be kept.
 */
export function readInto(received: (bytes: Buffer) => void): OnReadOpts {
  let block: Buffer | null = null;
  let used = 0;

  function kept(from: Buffer, bytes: number): Buffer {
    if (bytes > blockBytes / 2) {
      const own = Buffer.allocUnsafeSlow(bytes);
      from.copy(own, 0, 0, bytes);
      return own;
    }
    if (block === null || used + bytes > blockBytes) {
      block = Buffer.allocUnsafeSlow(blockBytes);
      used = 0;
    }
    const start = used;
    used += bytes;
    from.copy(block, start, 0, bytes);
    return block.subarray(start, used);
  }

  return {
    buffer: landing,
    callback(bytes, buffer) {
      received(kept(buffer as Buffer, bytes));
      return true;
    },
  };
}

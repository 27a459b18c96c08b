import type { OnReadOpts } from 'node:net';

/** What one read takes at most. */
const readBytesMax = 64 * 1024;

/** All sockets read into it, one after the other: what came is copied out before the next one reads. */
const landing = Buffer.allocUnsafeSlow(readBytesMax);
/** Whoever keeps a piece keeps its block: pieces of streams that stand still must not keep much. */
const blockBytes = 16 * 1024;
let block = Buffer.allocUnsafeSlow(blockBytes);
let used = 0;

/**
 * Reading for `net.connect`, by a copy: otherwise node allocates 64 KB of its own for each read, shrinks it to what came
 * and has a thread free it again, which costs more. Small pieces share a block.
 */
export function readInto(received: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: landing,
    callback(bytes, buffer) {
      received(kept(buffer as Buffer, bytes));
      return true;
    },
  };
}

function kept(from: Buffer, bytes: number): Buffer {
  if (bytes > blockBytes / 2) {
    const own = Buffer.allocUnsafeSlow(bytes);
    from.copy(own, 0, 0, bytes);
    return own;
  }
  if (used + bytes > blockBytes) {
    block = Buffer.allocUnsafeSlow(blockBytes);
    used = 0;
  }
  const start = used;
  used += bytes;
  from.copy(block, start, 0, bytes);
  return block.subarray(start, used);
}

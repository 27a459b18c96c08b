import { constants, crc32, deflateRawSync } from 'node:zlib';

/** One step of an answer on the wire: send text or bytes, or, as a number, pause for this many ms. */
export type Step = string | Uint8Array | number;

/** The first `count` bytes; the last piece is cut to fit. */
export function* firstBytes(steps: Iterable<Step>, count: number): Generator<Step> {
  let left = count;
  if (left === 0) return;
  for (const bytes of inBytes(steps)) {
    if (typeof bytes !== 'number' && bytes.length >= left) {
      yield bytes.subarray(0, left);
      return;
    }
    if (typeof bytes !== 'number') left -= bytes.length;
    yield bytes;
  }
}

/** The first `count` frames; pauses and SSE comments do not count. */
export function* firstFrames(steps: Iterable<Step>, count: number): Generator<Step> {
  let left = count;
  if (left === 0) return;
  for (const step of steps) {
    yield step;
    if (typeof step === 'number' || (typeof step === 'string' && step.startsWith(':'))) continue;
    left -= 1;
    if (left === 0) return;
  }
}

export function* dripped(steps: Iterable<Step>, pieceBytes: number, everyMs: number): Generator<Step> {
  for (const bytes of inBytes(steps)) {
    if (typeof bytes === 'number') yield bytes;
    else
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        yield bytes.subarray(at, at + pieceBytes);
        yield everyMs;
      }
  }
}

export function* withCrlf(steps: Iterable<Step>): Generator<Step> {
  for (const step of steps) yield typeof step === 'string' ? step.replaceAll('\n', '\r\n') : step;
}

const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/**
 * One gzip member (RFC 1952) that can be read piece by piece: each piece ends in a sync flush, as a server that
 * compresses a stream must do. Deflate blocks may simply follow each other, which keeps this synchronous.
 */
export function* gzipped(steps: Iterable<Step>): Generator<Step> {
  let crc = 0;
  let sizeBytes = 0;
  yield gzipHead;
  for (const bytes of inBytes(steps)) {
    if (typeof bytes === 'number') {
      yield bytes;
      continue;
    }
    crc = crc32(bytes, crc);
    sizeBytes += bytes.length;
    yield syncFlushed(bytes);
  }
  yield gzipTail(crc, sizeBytes);
}

const bombBlockBytes = 1_048_576;

/** A gzip member of `block` over and over, `sizeBytes` unpacked, then `rest`. The packed block is made once. */
export function* gzipBomb(sizeBytes: number, rest: string): Generator<Step> {
  const block = Buffer.alloc(bombBlockBytes, ' ');
  const packed = syncFlushed(block);
  let crc = 0;
  let unpacked = 0;
  yield gzipHead;
  while (unpacked < sizeBytes) {
    crc = crc32(block, crc);
    unpacked += block.length;
    yield packed;
  }
  const last = Buffer.from(rest);
  yield syncFlushed(last);
  yield gzipTail(crc32(last, crc), unpacked + last.length);
}

export function* endlessLine(start: string, sizeBytes: number): Generator<Step> {
  yield start;
  const block = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < sizeBytes; sent += block.length) yield block;
}

function* inBytes(steps: Iterable<Step>): Generator<Uint8Array | number> {
  for (const step of steps) yield typeof step === 'string' ? Buffer.from(step) : step;
}

function syncFlushed(bytes: Uint8Array): Buffer {
  return deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
}

function gzipTail(crc: number, sizeBytes: number): Buffer {
  // 03 00 is the empty last block that closes the deflate stream.
  const tail = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]);
  tail.writeUInt32LE(crc >>> 0, 2);
  tail.writeUInt32LE(sizeBytes % 2 ** 32, 6);
  return tail;
}

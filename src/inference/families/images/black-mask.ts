import { crc32, deflateSync, inflateSync } from 'node:zlib';
import type { MaskedAs } from '../../../formats/media/images/format.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
/** Twice as many as any model takes. */
const pixelsMax = 4_096 * 4_096;
/** Bytes of a pixel by PNG's colour type: grey and colours with alpha, at 8 bits. */
const channelsOf: ReadonlyMap<number, number> = new Map([
  [4, 2],
  [6, 4],
]);

/**
 * A mask as OpenAI has it, whose transparent pixels are to be drawn anew, as a PNG of pure black and pure white of the
 * same size. Synchronous, and slow for large ones. A PNG without alpha is the caller's fault.
 */
export function blackMask(png: Buffer, as: MaskedAs): Uint8Array<ArrayBuffer> | Fault {
  const head = png.subarray(8, 33);
  if (!png.subarray(0, 8).equals(signature) || head.length < 25 || head.toString('latin1', 4, 8) !== 'IHDR') {
    return wrong('is not a PNG');
  }
  const [width, height] = [head.readUInt32BE(8), head.readUInt32BE(12)];
  const channels = channelsOf.get(head.readUInt8(17));
  if (head[16] !== 8 || channels === undefined) return wrong('has no alpha channel of 8 bits');
  if (head[20] !== 0) return wrong('is interlaced');
  if (width === 0 || height === 0 || width * height > pixelsMax) return wrong(`has ${width} × ${height} pixels`);
  const alpha = alphaOf(png, width, height, channels);
  if (alpha === null) return wrong('cannot be read');
  // Each row begins with its filter, which is none.
  const rows = Buffer.alloc((width * 3 + 1) * height);
  const [masked, rest] = as === 'black' ? [0, 255] : [255, 0];
  for (let y = 0; y < height; y++) {
    const at = y * (width * 3 + 1) + 1;
    for (let x = 0; x < width; x++) {
      const value = alpha[y * width + x] === 0 ? masked : rest;
      rows.fill(value, at + x * 3, at + x * 3 + 3);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const pieces = [signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat(pieces));
}

function wrong(how: string): Fault {
  const message = `'mask' ${how}. Send a PNG with 8 bits a channel, alpha, and at most 16 million pixels.`;
  return { ...fault('caller_fault', message, 400), param: 'mask' };
}

/** The last channel of each pixel; null where the data is not whole. */
function alphaOf(png: Buffer, width: number, height: number, channels: number): Uint8Array | null {
  const rowBytes = width * channels;
  const whole = (rowBytes + 1) * height;
  let data: Buffer;
  try {
    data = inflateSync(Buffer.concat(dataChunks(png)), { maxOutputLength: whole });
  } catch {
    return null;
  }
  if (data.length !== whole) return null;
  const alpha = new Uint8Array(width * height);
  let before: Buffer = Buffer.alloc(rowBytes);
  for (let y = 0; y < height; y++) {
    const at = y * (rowBytes + 1);
    const row = data.subarray(at + 1, at + 1 + rowBytes);
    if (!unfilter(data[at]!, row, before, channels)) return null;
    for (let x = 0; x < width; x++) alpha[y * width + x] = row[(x + 1) * channels - 1]!;
    before = row;
  }
  return alpha;
}

function dataChunks(png: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 8; at + 12 <= png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') found.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return found;
}

/** PNG's five filters (https://www.w3.org/TR/png-3/#9Filters), undone in place; false for any other. */
function unfilter(filter: number, row: Buffer, before: Buffer, channels: number): boolean {
  if (filter > 4) return false;
  if (filter === 0) return true;
  for (let i = 0; i < row.length; i++) {
    const left = i < channels ? 0 : row[i - channels]!;
    const up = before[i]!;
    const upLeft = i < channels ? 0 : before[i - channels]!;
    const guessed =
      filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : nearest(left, up, upLeft);
    row[i] = row[i]! + guessed;
  }
  return true;
}

function nearest(left: number, up: number, upLeft: number): number {
  const guess = left + up - upLeft;
  const [toLeft, toUp, toUpLeft] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - upLeft)];
  if (toLeft <= toUp && toLeft <= toUpLeft) return left;
  return toUp <= toUpLeft ? up : upLeft;
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(typed.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(typed, 4);
  framed.writeUInt32BE(crc32(typed), typed.length + 4);
  return framed;
}

import { crc32, deflateSync } from 'node:zlib';
import { glyphColumns, glyphOf, glyphRows } from './picture-letters.ts';

export const pictureSideMin = 16;
export const pictureSideMax = 4_096;

export interface PictureSize {
  width: number;
  height: number;
}

/** White letters on black, one bit a pixel, as large as fits: a PNG that nobody mistakes for a real picture. */
export function pngSaying(lines: readonly string[], { width, height }: PictureSize): Buffer {
  const rowBytes = 1 + Math.ceil(width / 8);
  const pixels = Buffer.alloc(rowBytes * height);
  draw(lines, { width, height }, pixels, rowBytes);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length);
  return whole;
}

/** Each row begins with its filter, which is none. */
function draw(lines: readonly string[], size: PictureSize, pixels: Buffer, rowBytes: number): void {
  const { width, height } = size;
  const columns = Math.max(...lines.map(({ length }) => length)) * (glyphColumns + 1) + 1;
  const rows = lines.length * (glyphRows + 2) + 1;
  // Text without room even at one pixel a dot is cut at the edge.
  const scale = Math.max(1, Math.floor(Math.min(width / columns, height / rows)));
  const top = Math.max(0, Math.floor((height - rows * scale) / 2));
  for (const [lineAt, line] of lines.entries()) {
    const left = Math.max(0, Math.floor((width - (line.length * (glyphColumns + 1) - 1) * scale) / 2));
    for (let dotY = 0; dotY < glyphRows; dotY += 1) {
      const y = top + (lineAt * (glyphRows + 2) + 1 + dotY) * scale;
      if (y >= height) return;
      const first = pixels.subarray(y * rowBytes, (y + 1) * rowBytes);
      for (const [letterAt, letter] of [...line].entries()) {
        for (const dotX of glyphOf(letter)[dotY] ?? []) {
          const x = left + (letterAt * (glyphColumns + 1) + dotX) * scale;
          for (let at = x; at < Math.min(x + scale, width); at += 1) first[1 + (at >> 3)]! |= 0x80 >> (at & 7);
        }
      }
      for (let down = 1; down < scale && y + down < height; down += 1) first.copy(pixels, (y + down) * rowBytes);
    }
  }
}

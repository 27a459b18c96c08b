import { crc32, deflateSync } from 'node:zlib';

export const pictureSideMin = 16;
export const pictureSideMax = 4_096;

/** Each letter that pictures need, and its seven rows of five dots, each a digit of base 32. */
const font = new Map(
  `Aehhvhhh Cfgggggf Duhhhhhu Evgguggv Iv44444v Khikokih Lggggggv Mhrllhhh Nhppljjh Oehhhhhe Sfgge11u Tv444444
   Uhhhhhhe x00ha4ah 0ehjlphe 14c4444e 2eh1248v 3u11e11u 426aiv22 5vgu11he 6egguhhe 7v124888 8ehhehhe 9ehhf11e`
    .split(/\s+/)
    .map(([letter = '', ...rows]) => [letter, rows.map((row) => bitsOf(Number.parseInt(row, 32), 5))]),
);
const letterColumns = 6;
const lineRows = 9;

/** White letters on black, one bit a pixel, as large as fits: a PNG that nobody mistakes for a real picture. */
export function pngSaying(lines: readonly string[], { width, height }: { width: number; height: number }): Buffer {
  const columns = Math.max(...lines.map(({ length }) => length)) * letterColumns + 1;
  const rows = lines.length * lineRows + 1;
  // Text without room even at one pixel a dot is cut at the edge.
  const scale = Math.max(1, Math.floor(Math.min(width / columns, height / rows)));
  const top = Math.max(0, Math.floor((height - rows * scale) / 2));
  const drawn = lines.flatMap((line) => ['', ...dotRowsOf(line), '']).map((dots) => pixelsOf(dots, scale, width));
  const blank = pixelsOf('', scale, width);
  const pixels = Array.from({ length: height }, (_, y) => drawn[Math.floor((y - top) / scale)] ?? blank);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(pixels))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** An unknown letter has no dots. */
function dotRowsOf(line: string): string[] {
  return Array.from({ length: 7 }, (_, row) => [...line].map((letter) => font.get(letter)?.[row] ?? '00000').join('0'));
}

/** A row of the picture, in its middle these dots. It begins with its filter, which is none. */
function pixelsOf(dots: string, scale: number, width: number): Buffer {
  const wide = dots.replace(/./g, (dot) => dot.repeat(scale));
  const left = Math.max(0, Math.floor((width - wide.length) / 2));
  const bits = `${'0'.repeat(left)}${wide}`.slice(0, width).padEnd(Math.ceil(width / 8) * 8, '0');
  return Buffer.from([0, ...(bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))]);
}

function bitsOf(value: number, count: number): string {
  return value.toString(2).padStart(count, '0');
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length);
  return whole;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { blackMask } from './black-mask.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const [width, height] = [3, 5];
/** Alpha by row: each row has another of PNG's filters. */
const alphas = [
  [0, 255, 7],
  [255, 0, 0],
  [0, 0, 255],
  [9, 255, 0],
  [0, 1, 0],
];

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(typed.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(typed, 4);
  framed.writeUInt32BE(crc32(typed), typed.length + 4);
  return framed;
}

const paeth = (left: number, up: number, corner: number): number => {
  const guess = left + up - corner;
  const away = [left, up, corner].map((one) => Math.abs(guess - one));
  return [left, up, corner][away.indexOf(Math.min(...away))] ?? 0;
};

/** Colours are those of noise: a filter that is undone wrongly spoils alpha too. */
function pixelRows(channels: number): number[][] {
  return alphas.map((row, y) =>
    row.flatMap((alpha, x) => [
      ...Array.from({ length: channels - 1 }, (_, at) => (37 * (x + 3 * y + at)) % 256),
      alpha,
    ]),
  );
}

function filteredRows(rows: readonly number[][], channels: number): Buffer {
  return Buffer.concat(
    rows.map((row, y) => {
      const filter = y % 5;
      const bytes = row.map((value, at) => {
        const left = row[at - channels] ?? 0;
        const up = rows[y - 1]?.[at] ?? 0;
        const corner = rows[y - 1]?.[at - channels] ?? 0;
        const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, corner)];
        return (value - (guesses[filter] ?? 0)) & 255;
      });
      return Buffer.from([filter, ...bytes]);
    }),
  );
}

function png(
  form: { colour?: number; depth?: number; interlace?: number; size?: [number, number]; data?: Buffer } = {},
) {
  const { colour = 6, depth = 8, interlace = 0, size = [width, height] } = form;
  const channels = colour === 4 ? 2 : 4;
  const data = form.data ?? deflateSync(filteredRows(pixelRows(channels), channels));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size[0], 0);
  header.writeUInt32BE(size[1], 4);
  header.set([depth, colour, 0, 0, interlace], 8);
  const half = data.length >> 1;
  const parts = [
    chunk('IDAT', data.subarray(0, half)),
    chunk('tEXt', Buffer.from('a')),
    chunk('IDAT', data.subarray(half)),
  ];
  return Buffer.concat([signature, chunk('IHDR', header), ...parts, chunk('IEND', Buffer.alloc(0))]);
}

/** Colours of the pixels of a PNG without filters, 8 bits, RGB, by row. */
function pixelsOf(file: Uint8Array): number[][] {
  const bytes = Buffer.from(file);
  assert.deepEqual(bytes.subarray(0, 8), signature);
  assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[24], bytes[25]], [width, height, 8, 2]);
  const at = bytes.indexOf('IDAT');
  const rows = inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)));
  return Array.from({ length: height }, (_, y) => {
    const row = rows.subarray(y * (width * 3 + 1), (y + 1) * (width * 3 + 1));
    assert.equal(row[0], 0);
    return Array.from({ length: width }, (_, x) => {
      const colours = new Set(row.subarray(1 + x * 3, 4 + x * 3));
      assert.equal(colours.size, 1);
      return row[1 + x * 3] ?? -1;
    });
  });
}

for (const colour of [4, 6]) {
  test(`transparent pixels are black or white, by what the model wants: colour type ${colour}`, () => {
    for (const [as, masked, rest] of [
      ['black', 0, 255],
      ['white', 255, 0],
    ] as const) {
      const made = blackMask(png({ colour }), as);
      assert(made instanceof Uint8Array);
      assert.deepEqual(
        pixelsOf(made),
        alphas.map((row) => row.map((alpha) => (alpha === 0 ? masked : rest))),
      );
    }
  });
}

test('a mask that cannot be used says why', () => {
  const whole = filteredRows(pixelRows(4), 4);
  const odd = Buffer.from(whole);
  odd[0] = 5;
  const wrong: readonly [Buffer, RegExp][] = [
    [Buffer.from('GIF89a, which is no PNG at all: its head differs'), /is not a PNG/],
    [png().subarray(0, 20), /is not a PNG/],
    [png({ depth: 16 }), /has no alpha channel of 8 bits/],
    [png({ colour: 2 }), /has no alpha channel of 8 bits/],
    [png({ interlace: 1 }), /is interlaced/],
    [png({ size: [0, 5] }), /has 0 × 5 pixels/],
    [png({ size: [4_097, 4_096] }), /has 4097 × 4096 pixels/],
    [png({ size: [width, height + 1] }), /cannot be read/],
    [png({ size: [width, height - 1] }), /cannot be read/],
    [png({ data: Buffer.from('no deflate') }), /cannot be read/],
    [png({ data: deflateSync(odd) }), /cannot be read/],
  ];
  for (const [file, message] of wrong) {
    const found = blackMask(file, 'black');
    assert(!(found instanceof Uint8Array), String(message));
    assert.match(found.message, message);
    assert.equal(found.param, 'mask');
  }
});

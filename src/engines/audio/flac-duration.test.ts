import assert from 'node:assert/strict';
import type { FileHandle } from 'node:fs/promises';
import { test } from 'node:test';
import { crc8 } from './flac.ts';
import { flacDurationMs } from './flac-duration.ts';

/* Headers of frames as RFC 9639 §9.1 has them, also those that no encoder here writes. */

interface Info {
  rateHz?: number;
  channels?: number;
  blockSamples?: number;
  declared?: number;
}

/** The marker and STREAMINFO. */
function headOf({ rateHz = 1_000, channels = 2, blockSamples = 4_096, declared = 0 }: Info = {}): Buffer {
  const head = Buffer.alloc(42);
  head.write('fLaC', 'latin1');
  head.writeUInt16BE(blockSamples, 10);
  head.writeUIntBE((rateHz << 4) | ((channels - 1) << 1), 18, 3);
  head.writeUInt8(Math.floor(declared / 2 ** 32), 21);
  head.writeUInt32BE(declared % 2 ** 32, 22);
  return head;
}

interface Frame {
  /** Codes of the block's size, of the rate and of the channels; block sizes and rates that follow the number. */
  size?: number;
  rate?: number;
  channel?: number;
  number: readonly number[];
  after?: readonly number[];
  variable?: boolean;
  crc?: number;
  last?: number;
}

function frameOf({ size = 8, rate = 0, channel = 1, number, after = [], variable = false, crc = 0, last = 0 }: Frame) {
  const header = Buffer.from([
    0xff,
    variable ? 0xf9 : 0xf8,
    (size << 4) | rate,
    (channel << 4) | last,
    ...number,
    ...after,
  ]);
  return Buffer.concat([header, Buffer.from([crc8(header) ^ crc]), Buffer.alloc(20, 0x11)]);
}

function msOf(...parts: Buffer[]): Promise<number | null> {
  const bytes = Buffer.concat(parts);
  const read = async (into: Buffer, _offset: number, length: number, from: number) => ({
    buffer: into,
    bytesRead: bytes.copy(into, 0, from, Math.min(bytes.length, from + length)),
  });
  return flacDurationMs({ read } as unknown as FileHandle, bytes.length);
}

const sizes = [192, 576, 1_152, 2_304, 4_608, 0, 0, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768];

test('a file lasts until its last frame ends, of whatever size its block is', async () => {
  for (const [at, samples] of sizes.entries())
    if (samples > 0)
      assert.equal(await msOf(headOf(), frameOf({ size: at + 1, number: [2] })), 2 * 4_096 + samples, `code ${at + 1}`);
  assert.equal(await msOf(headOf(), frameOf({ size: 6, number: [0], after: [99] })), 100);
  assert.equal(await msOf(headOf(), frameOf({ size: 7, number: [0], after: [2, 1] })), 514);
  assert.equal(await msOf(headOf(), frameOf({ number: [0] }), frameOf({ number: [5] })), 5 * 4_096 + 256);
  assert.equal(await msOf(headOf({ rateHz: 48_000 }), frameOf({ number: [3] })), ((3 * 4_096 + 256) * 1_000) / 48_000);
});

test('numbers of one to seven bytes are read, of frames and of samples', async () => {
  for (const [number, value] of [
    [[0x7f], 0x7f],
    [[0xc2, 0x80], 0x80],
    [[0xe0, 0xa0, 0x80], 0x800],
    [[0xf0, 0x90, 0x80, 0x81], 0x10001],
    [[0xf8, 0x88, 0x80, 0x80, 0x80], 0x200000],
    [[0xfc, 0x84, 0x80, 0x80, 0x80, 0x80], 0x4000000],
    [[0xfe, 0x82, 0x80, 0x80, 0x80, 0x80, 0x80], 0x80000000],
  ] as const) {
    assert.equal(await msOf(headOf(), frameOf({ number, variable: true })), value + 256);
    assert.equal(await msOf(headOf(), frameOf({ number })), value * 4_096 + 256);
  }
});

test('rates that follow are passed over, and two channels may be one and a difference', async () => {
  for (const [rate, after] of [[12, [44]], [13, [1, 2]], [14, [1, 2]], [11, []]] as const) // biome-ignore format: a table
    assert.equal(await msOf(headOf(), frameOf({ rate, number: [0], after })), 256, `rate ${rate}`);
  for (const channel of [1, 8, 9, 10]) assert.equal(await msOf(headOf(), frameOf({ channel, number: [0] })), 256);
  assert.equal(await msOf(headOf({ channels: 6 }), frameOf({ channel: 5, number: [0] })), 256);
});

test('what is no frame leaves the length that the file declares, or none', async () => {
  const wrong: Frame[] = [
    { number: [0], crc: 1 },
    { number: [0], size: 0 },
    { number: [0], rate: 15 },
    { number: [0], channel: 11 },
    { number: [0], channel: 0 },
    { number: [0], last: 1 },
    { number: [0x80] },
    { number: [0xff] },
    { number: [0xc2, 0x40] },
  ];
  for (const frame of wrong) {
    assert.equal(await msOf(headOf({ declared: 2 ** 33 + 7 }), frameOf(frame)), 2 ** 33 + 7, JSON.stringify(frame));
    assert.equal(await msOf(headOf(), frameOf(frame)), null, JSON.stringify(frame));
  }
  assert.equal(await msOf(headOf({ rateHz: 0 }), frameOf({ number: [0] })), null);
  assert.equal(await msOf(headOf().subarray(0, 41)), null);
  assert.equal(await msOf(Buffer.from('OggS'), headOf(), frameOf({ number: [0] })), null);
  for (const cut of [1, 2, 3, 4, 5])
    assert.equal(await msOf(headOf(), frameOf({ number: [0] }).subarray(0, cut)), null);
});

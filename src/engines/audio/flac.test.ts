import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { missingTool, probeBytes, tonePcm } from '../../../test/sound.ts';
import { createFlacWriter } from './flac.ts';

const skip = missingTool('ffmpeg', 'ffprobe');

function written(pcm: Buffer, rateHz = 24_000, pieceSamples = 1_000): Buffer {
  const writer = createFlacWriter(rateHz);
  const samples = new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length));
  const parts = [writer.head];
  for (let at = 0; at < samples.length; at += pieceSamples)
    parts.push(writer.push(samples.subarray(at, at + pieceSamples)));
  return Buffer.concat([...parts, writer.end()]);
}

/** By another's decoder, which checks every sum. */
function decoded(flac: Buffer): Buffer {
  const { status, stdout, stderr } = spawnSync(
    'ffmpeg',
    [
      '-v',
      'error',
      '-xerror',
      '-err_detect',
      'crccheck+explode',
      '-f',
      'flac',
      '-i',
      'pipe:0',
      '-f',
      's16le',
      'pipe:1',
    ],
    { input: flac, maxBuffer: 64 * 1024 * 1024 },
  );
  assert.equal(status, 0, String(stderr));
  assert.equal(String(stderr), '');
  return stdout;
}

test('a file says its length where that is known, up to what its header can hold', () => {
  const declared = (samples?: number) => createFlacWriter(24_000, samples).head.readUInt32BE(22);
  assert.deepEqual([declared(48_000), declared(), declared(2 ** 40)], [48_000, 0, 0]);
});

test('a file says how long its blocks are: one length, as its frames have', () => {
  const { head } = createFlacWriter(24_000);
  assert.deepEqual([head.readUInt16BE(8), head.readUInt16BE(10)], [4_096, 4_096]);
});

test('flac decodes to the very samples, at their rate, and is smaller', { skip }, () => {
  for (const rateHz of [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]) {
    const pcm = tonePcm(2_000, { rateHz });
    const flac = written(pcm, rateHz);
    assert.deepEqual(decoded(flac), pcm);
    assert.ok(flac.length < pcm.length * 0.8);
    const probed = probeBytes(flac);
    assert.deepEqual([probed.codec, probed.rateHz, probed.channels], ['flac', rateHz, 1]);
  }
});

test('so does sound of more than 128 and of more than 2,048 blocks, whose numbers take more bytes', { skip }, () => {
  const silence = Buffer.alloc(2 * 4_096 * 2_100);
  assert.deepEqual(decoded(written(silence, 24_000, 100_000)), silence);
});

test('so do loud noise, silence, extremes and few samples, in pieces of any size', { skip }, () => {
  const sample = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: -32_768, max: 32_767 }) },
    fc.constantFrom(-32_768, 32_767, 0, 1, -1),
  );
  fc.assert(
    fc.property(
      fc.array(sample, { minLength: 1, maxLength: 300 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 5_000 }),
      (pattern, repeats, piece) => {
        const pcm = Buffer.alloc(pattern.length * repeats * 2);
        for (let i = 0; i < pattern.length * repeats; i += 1) pcm.writeInt16LE(pattern[i % pattern.length] ?? 0, i * 2);
        assert.deepEqual(decoded(written(pcm, 24_000, piece)), pcm);
      },
    ),
    { numRuns: 12 },
  );
});

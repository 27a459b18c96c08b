import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import fc from 'fast-check';
import { pitchHzOf, tonePcm } from '../../../test/sound.ts';
import { AudioFault } from './audio-fault.ts';
import { createResampler } from './resample.ts';
import { readSamples, readWavHeader, toS16le, wavDurationMs, wavHeader, wavHeaderBytes } from './wav.ts';
import { plainConversion } from './wav-stream.ts';

const mono = { rateHz: 24_000, channels: 1 };

test('a header says what was written, and its length only where it is known', () => {
  for (const dataBytes of [null, 2, 96_000])
    assert.deepEqual(readWavHeader(wavHeader(mono, dataBytes)), {
      ...mono,
      encoding: 's16',
      dataOffsetBytes: wavHeaderBytes,
      dataBytes,
    });
  assert.equal(wavHeader(mono, null).readUInt32LE(40), 0xffffffff);
  assert.equal(wavHeader(mono, 96_000).readUInt32LE(4), 96_036);
});

test('a header is waited for as long as it may still come', () => {
  const whole = wavHeader(mono, 100);
  for (let length = 0; length < whole.length; length += 1)
    assert.equal(readWavHeader(whole.subarray(0, length)), 'more', `${length} bytes`);
  assert.equal(readWavHeader(Buffer.from('RIFX')), null);
  assert.equal(readWavHeader(Buffer.from('{"error":')), null);
});

test('chunks before the samples are stepped over, compressed samples are refused', () => {
  const header = wavHeader(mono, 100);
  const list = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1');
  const found = readWavHeader(Buffer.concat([header.subarray(0, 36), list, header.subarray(36)]));
  assert.ok(found !== null && found !== 'more');
  assert.equal(found.dataOffsetBytes, wavHeaderBytes + list.length);
  const muLaw = wavHeader(mono, 100);
  muLaw.writeUInt16LE(7, 20);
  assert.equal(readWavHeader(muLaw), null);
  const endless = Buffer.concat([header.subarray(0, 36), Buffer.from('LIST\xff\xff\xff\x7f', 'latin1')]);
  assert.equal(readWavHeader(endless), null);
});

test('a rate at which nothing is recorded is no header: a second of it would be made into hours', () => {
  for (const rateHz of [1, 3_999, 800_000]) assert.equal(readWavHeader(wavHeader({ rateHz, channels: 1 }, 100)), null);
  assert.notEqual(readWavHeader(wavHeader({ rateHz: 8_000, channels: 1 }, 100)), null);
});

test('any bytes whatever are read as a header or none, without throwing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(60), (noise, at) => {
      readWavHeader(noise);
      const spoiled = Buffer.concat([wavHeader(mono, 100), Buffer.from(noise)]);
      spoiled.set(noise.subarray(0, Math.max(0, spoiled.length - at)), at % spoiled.length > 44 ? 0 : at % 20);
      readWavHeader(spoiled);
    }),
  );
});

test('the length of a file is that of the samples which are there, whatever its header says', () => {
  const header = readWavHeader(wavHeader(mono, 480_000));
  assert.ok(header !== null && header !== 'more');
  assert.equal(wavDurationMs(header, wavHeaderBytes + 48_000), 1_000);
  assert.equal(wavDurationMs({ ...header, dataBytes: null }, wavHeaderBytes + 96_000), 2_000);
  assert.equal(wavDurationMs(header, 10), 0);
});

test('samples of every size are read as the same sound', () => {
  const s24 = Buffer.alloc(3);
  s24.writeIntLE(-4_194_304, 0, 3);
  const s32 = Buffer.alloc(4);
  s32.writeInt32LE(-1_073_741_824);
  const f32 = Buffer.alloc(4);
  f32.writeFloatLE(-0.5);
  const f64 = Buffer.alloc(8);
  f64.writeDoubleLE(-0.5);
  const s16 = Buffer.alloc(2);
  s16.writeInt16LE(-16_384);
  const all = { u8: Buffer.from([64]), s16, s24, s32, f32, f64 };
  for (const [encoding, bytes] of Object.entries(all))
    assert.deepEqual(
      [...readSamples(bytes, { encoding: encoding as keyof typeof all, channels: 1 })],
      [-0.5],
      encoding,
    );
  assert.deepEqual([...readSamples(Buffer.concat([s16, Buffer.alloc(2)]), { encoding: 's16', channels: 2 })], [-0.25]);
});

test('what is louder than loud is clipped, and what is no number is silence', () => {
  const bytes = toS16le(Float32Array.from([2, -2, Number.NaN, 0]));
  assert.deepEqual(
    [0, 2, 4, 6].map((at) => bytes.readInt16LE(at)),
    [32_767, -32_768, 0, 0],
  );
});

test('cut anywhere, a wav file gives the same samples', async () => {
  const stereo = Buffer.alloc(2_000);
  for (let i = 0; i < 1_000; i += 1) stereo.writeInt16LE(((i * 7919) % 30_000) - 15_000, i * 2);
  const file = Buffer.concat([
    wavHeader({ rateHz: 16_000, channels: 2 }, stereo.length),
    stereo,
    Buffer.from('LIST\x04\0\0\0junk', 'latin1'),
  ]);
  const convert = async (pieces: Buffer[]) => {
    const stream = plainConversion('wav', { format: 'pcm', rateHz: 24_000 });
    for (const piece of pieces) stream.write(piece);
    stream.end();
    return buffer(stream);
  };
  const whole = await convert([file]);
  assert.equal(whole.length, 2 * 750);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 600 }), { minLength: 1, maxLength: 20 }), async (sizes) => {
      const pieces: Buffer[] = [];
      for (let at = 0, i = 0; at < file.length; i += 1) {
        const size = sizes[i % sizes.length] ?? 1;
        pieces.push(file.subarray(at, at + size));
        at += size;
      }
      assert.deepEqual(await convert(pieces), whole);
    }),
    { numRuns: 40 },
  );
});

test('a wav file that ends in its header is unreadable', async () => {
  const stream = plainConversion('wav', { format: 'pcm', rateHz: 24_000 });
  stream.end(wavHeader(mono, null).subarray(0, 30));
  await assert.rejects(buffer(stream), (error) => error instanceof AudioFault && error.reason === 'unreadable');
});

for (const [fromHz, toHz] of [
  [22_050, 24_000],
  [48_000, 16_000],
  [44_100, 24_000],
  [8_000, 24_000],
] as const)
  test(`${fromHz} Hz become ${toHz} Hz at the same pitch, length and loudness`, () => {
    const input = readSamples(tonePcm(1_000, { rateHz: fromHz }), { encoding: 's16', channels: 1 });
    const resampler = createResampler(fromHz, toHz);
    const pieces = [resampler.push(input.subarray(0, 777)), resampler.push(input.subarray(777)), resampler.end()];
    const output = Float32Array.from(pieces.flatMap((piece) => [...piece]));
    assert.equal(output.length, toHz);
    assert.ok(Math.abs(pitchHzOf(output, toHz) - 440) <= 2);
    const expected = readSamples(tonePcm(1_000, { rateHz: toHz }), { encoding: 's16', channels: 1 });
    const middle = output.subarray(1_000, -1_000).map((value, i) => value - (expected[i + 1_000] ?? 0));
    const worst = middle.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    assert.ok(worst < 0.004, `off by ${worst}`);
  });

test('going down, a pitch that the lower rate cannot carry is taken out and not folded back', () => {
  const input = readSamples(tonePcm(500, { rateHz: 48_000, pitchHz: 10_000 }), { encoding: 's16', channels: 1 });
  const resampler = createResampler(48_000, 16_000);
  const output = [...resampler.push(input), ...resampler.end()].slice(200, -200);
  assert.ok(Math.max(...output.map(Math.abs)) < 0.002);
});

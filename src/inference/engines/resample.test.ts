import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { resampled } from './resample.ts';

const whole = (samples: Int16Array, fromHz: number, toHz: number) =>
  Int16Array.from([...resampled(samples, fromHz, toHz)].flatMap((slice) => [...slice]));

function tone(hz: number, rateHz: number, seconds: number): Int16Array {
  return Int16Array.from({ length: rateHz * seconds }, (_, at) =>
    Math.round(10_000 * Math.sin((2 * Math.PI * hz * at) / rateHz)),
  );
}

test('a tone at 22,050 Hz is the same tone at 24,000 Hz, within 0.2 % of its height', () => {
  for (const hz of [100, 440, 3_000]) {
    const got = whole(tone(hz, 22_050, 1), 22_050, 24_000);
    const wanted = tone(hz, 24_000, 1);
    assert.equal(got.length, wanted.length);
    // At the ends a tone that begins suddenly is no tone.
    for (let at = 100; at < got.length - 100; at += 1) {
      assert.ok(Math.abs(got[at]! - wanted[at]!) <= 20, `${hz} Hz at ${at}: ${got[at]} for ${wanted[at]}`);
    }
  }
});

test('it lasts as long as before, and slices show no seams', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 30_000 }),
      fc.constantFrom(8_000, 16_000, 22_050, 44_100),
      (length, rateHz) => {
        const level = new Int16Array(length).fill(1_000);
        const got = whole(level, rateHz, 24_000);
        assert.equal(got.length, Math.round((length * 24_000) / rateHz));
        assert.ok(got.subarray(200, -200).every((value) => Math.abs(value - 1_000) <= 1));
      },
    ),
    { numRuns: 20 },
  );
});

test('loud sound is cut at the ends of the range and never wraps round', () => {
  const loud = Int16Array.from({ length: 2_000 }, (_, at) => (at % 40 < 20 ? 32_767 : -32_768));
  const got = whole(loud, 22_050, 24_000);
  for (let at = 0; at < got.length; at += 1) {
    const phase = ((at * 22_050) / 24_000) % 40;
    // Well inside each half of the square.
    if (phase > 4 && phase < 16) assert.ok(got[at]! > 20_000);
    if (phase > 24 && phase < 36) assert.ok(got[at]! < -20_000);
  }
});

test('nothing stays nothing, and the same rate the same samples', () => {
  assert.equal(whole(new Int16Array(0), 22_050, 24_000).length, 0);
  const samples = Int16Array.of(1, 2, 3);
  assert.deepEqual(whole(samples, 24_000, 24_000), samples);
});

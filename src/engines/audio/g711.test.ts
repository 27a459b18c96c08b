import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeG711, encodeG711 } from './g711.ts';

const levelsOf = (law: 'pcmu' | 'pcma', codes: number[]) =>
  [...decodeG711(Uint8Array.from(codes), law)].map((sample) => sample * 32_768);
const codesOf = (law: 'pcmu' | 'pcma', levels: number[]) => [
  ...encodeG711(
    Float32Array.from(levels, (level) => level / 32_768),
    law,
  ),
];

test('the codes of silence, of the loudest and of the softest sounds are those of G.711', () => {
  assert.deepEqual(levelsOf('pcmu', [0xff, 0x7f, 0x80, 0x00, 0xfe, 0x7e]), [0, 0, 32_124, -32_124, 8, -8]);
  assert.deepEqual(levelsOf('pcma', [0xd5, 0x55, 0xaa, 0x2a]), [8, -8, 32_256, -32_256]);
  assert.deepEqual(codesOf('pcmu', [0, 40_000, -40_000]), [0xff, 0x80, 0x00]);
  assert.deepEqual(codesOf('pcma', [1, 40_000, -40_000]), [0xd5, 0xaa, 0x2a]);
});

test('every code stays itself, and no sample moves by more than half a step of its scale', () => {
  const codes = Array.from({ length: 256 }, (_, code) => code);
  // 0x7f is the second zero of μ-law.
  assert.deepEqual(codesOf('pcmu', levelsOf('pcmu', codes)), codes.with(0x7f, 0xff));
  assert.deepEqual(codesOf('pcma', levelsOf('pcma', codes)), codes);
  for (const law of ['pcmu', 'pcma'] as const) {
    for (let level = -32_000; level <= 32_000; level += 77) {
      const [back] = levelsOf(law, codesOf(law, [level]));
      assert.ok(Math.abs(back! - level) <= Math.max(8, (Math.abs(level) + 132) / 32), `${law} ${level} is ${back}`);
    }
  }
});

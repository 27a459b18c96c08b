import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { bodyParts } from './read-body.ts';

const kb = 1024;
const mb = 1024 * kb;

for (const { what, declaredBytes, sizes } of [
  { what: 'small', declaredBytes: 100, sizes: [100] },
  { what: 'of no declared length', declaredBytes: null, sizes: [64 * kb, 3 * mb, 1] },
  { what: 'that ends just after its memory is there', declaredBytes: mb + 2, sizes: [mb, 2] },
  { what: 'whose small chunks come first', declaredBytes: 8 * mb, sizes: [...same(kb, mb / kb), ...same(mb, 7)] },
  { what: 'whose large chunks come first', declaredBytes: 9 * mb, sizes: [...same(mb, 8), ...same(kb, mb / kb)] },
  { what: 'that was cut', declaredBytes: 8 * mb, sizes: [mb, 64 * kb, 64 * kb] },
]) {
  test(`a body ${what} is whole, in the order in which it came`, () => {
    const bytes = randomBytes(sizes.reduce((sum, size) => sum + size, 0));
    const parts = bodyParts(declaredBytes);
    for (const chunk of chunksOf(bytes, sizes)) parts.add(chunk);
    assert.ok(parts.whole().equals(bytes));
  });
}

test('memory that was given stays the giver\u2019s', () => {
  const given = Buffer.alloc(2 * mb);
  const parts = bodyParts(given.length, () => given);
  for (const chunk of chunksOf(randomBytes(given.length), [mb, mb])) parts.add(chunk);
  parts.giveBack();
  assert.equal(given.length, 2 * mb);
});

function same(size: number, count: number): number[] {
  return new Array<number>(count).fill(size);
}

/** Chunks as a socket gives them: each has separate memory. */
function* chunksOf(bytes: Buffer, sizes: readonly number[]): Iterable<Buffer> {
  let at = 0;
  for (const size of sizes) {
    const chunk = Buffer.allocUnsafeSlow(size);
    bytes.copy(chunk, 0, at, at + size);
    at += size;
    yield chunk;
  }
}

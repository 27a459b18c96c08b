import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { createStorageBook } from './storage-book.ts';

test('what went since the last measure counts no more, before anybody is refused for it', async () => {
  const clock = fakeClock();
  let pageBytes = 900;
  const book = createStorageBook({
    allowed: () => 1_000,
    vectors: async () => 0,
    uploads: () => 0,
    measure: async () => [{ account: 'a', kind: 'pages', bytes: pageBytes }],
    room: () => null,
    clock,
  });
  assert.equal(await book.mayKeep('a'), null);
  book.add('a', 'pages', 200);
  const refused = await book.mayKeep('a');
  assert.ok(refused?.kind === 'quota-exceeded' && refused.used === 1_100, 'what came counts at once');
  pageBytes = 0;
  assert.notEqual(await book.mayKeep('a'), null, 'it is not measured at every refusal');
  clock.advance(5_001);
  assert.equal(await book.mayKeep('a'), null);
});

test('pictures count until their links end', async () => {
  const clock = fakeClock();
  const book = createStorageBook({
    allowed: () => 1_000,
    vectors: async () => null,
    uploads: () => 0,
    measure: async () => [],
    room: () => null,
    clock,
  });
  book.add('a', 'pictures', 1_000);
  assert.notEqual(await book.mayKeep('a'), null);
  assert.equal(await book.mayKeep('b'), null);
  clock.advance(3_600_000 + 61_000);
  assert.equal(await book.mayKeep('a'), null);
});

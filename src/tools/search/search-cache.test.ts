import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { FoundHits } from './run-search.ts';
import { createSearchCache } from './search-cache.ts';

const found = (description: string): FoundHits => ({
  kind: 'found',
  hits: [{ url: 'https://a.example/', title: 'A', description, position: 1 }],
  provider: 'brave',
  warnings: [],
});

test('an answer is kept for ten minutes', () => {
  const clock = fakeClock();
  const cache = createSearchCache(clock.monotonicMs);
  cache.put('question', found('words'));
  clock.advance(599_999);
  assert.deepEqual(cache.get('question'), found('words'));
  clock.advance(1);
  assert.equal(cache.get('question'), null);
  assert.equal(cache.get('another'), null);
});

test('no more than 2,000 answers are kept, nor more than 8 million characters: the oldest go', () => {
  const clock = fakeClock();
  const cache = createSearchCache(clock.monotonicMs);
  for (let at = 0; at <= 2_000; at++) cache.put(`q${at}`, found('words'));
  assert.equal(cache.get('q0'), null);
  assert.notEqual(cache.get('q1'), null);
  for (let at = 0; at < 5; at++) cache.put(`long${at}`, found('x'.repeat(2_000_000)));
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((at) => cache.get(`long${at}`) !== null),
    [false, false, true, true, true],
  );
  assert.equal(cache.get('q2000'), null);
});

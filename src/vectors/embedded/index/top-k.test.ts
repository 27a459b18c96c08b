import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTopK } from './top-k.ts';

test('the best come out in order, equal keys by id, NaN last', () => {
  const key = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(Number.NaN, Infinity, -Infinity));
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), fc.nat(20), (keys, capacity) => {
      const top = createTopK(capacity);
      const offers = keys.map((value, id) => ({ key: Number.isNaN(value) ? -Infinity : value, id }));
      // Ids are given in no order.
      for (const { id } of [...offers].sort((a, b) => ((a.id * 7) % 11) - ((b.id * 7) % 11))) top.offer(keys[id]!, id);
      const expected = offers
        .sort((a, b) => (a.key === b.key ? a.id - b.id : b.key > a.key ? 1 : -1))
        .slice(0, capacity);
      const { keys: foundKeys, ids } = top.drain();
      assert.deepEqual(
        [...ids],
        expected.map((offer) => offer.id),
      );
      assert.deepEqual(
        [...foundKeys],
        expected.map((offer) => offer.key),
      );
      assert.equal(top.count, 0);
    }),
    { numRuns: 300, seed: 5 },
  );
});

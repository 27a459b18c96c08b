import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { BriefMap, BriefSet } from './brief.ts';

test('an entry is there until it is deleted or replaced', () => {
  const map = new BriefMap<{ n: number }>();
  map.set('a', { n: 1 });
  map.set('b', { n: 2 });
  map.set('a', { n: 3 });
  const numbers = () => [...map.values()].map(({ n }) => n).sort();
  assert.deepEqual([map.get('a'), map.has('b'), numbers(), map.size], [{ n: 3 }, true, [2, 3], 2]);
  map.take('a');
  map.take('c');
  assert.deepEqual([map.get('a'), map.has('a'), numbers(), map.size], [undefined, false, [2], 1]);
});

test('whatever comes and goes, it holds what a Map holds', () => {
  // Few keys, so that they come again; all of one length, so that many stand behind others of their slot.
  const key = fc.integer({ min: 0, max: 150 }).map((n) => `req_0192f${String(n).padStart(3, '0')}`);
  const step = fc.record({ key, is: fc.constantFrom('set', 'delete') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
      const map = new BriefMap<number>();
      const like = new Map<string, number>();
      for (const [at, { key, is }] of steps.entries()) {
        if (is === 'set') {
          map.set(key, at);
          like.set(key, at);
        } else {
          map.take(key);
          like.delete(key);
        }
      }
      assert.equal(map.size, like.size);
      for (let n = 0; n <= 150; n += 1) {
        const key = `req_0192f${String(n).padStart(3, '0')}`;
        assert.deepEqual([map.get(key), map.has(key)], [like.get(key), like.has(key)]);
      }
      assert.deepEqual(
        [...map.values()].sort((a, b) => a - b),
        [...like.values()].sort((a, b) => a - b),
      );
    }),
  );
});

test('keys that end alike are told apart', () => {
  const map = new BriefMap<number>();
  for (let n = 0; n < 200; n += 1) map.set(`${n}_the-same-long-end-of-a-key`, n);
  for (let n = 0; n < 200; n += 2) map.take(`${n}_the-same-long-end-of-a-key`);
  for (let n = 0; n < 200; n += 1) {
    assert.equal(map.get(`${n}_the-same-long-end-of-a-key`), n % 2 === 0 ? undefined : n);
  }
});

test('whatever comes and goes, a set holds what a Set holds, and its members may leave while they are looked at', () => {
  const step = fc.record({ n: fc.nat({ max: 30 }), is: fc.constantFrom('add', 'delete') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const items = Array.from({ length: 31 }, (_, n) => ({ n, place: -1 }));
      const set = new BriefSet<(typeof items)[number]>();
      const like = new Set<number>();
      for (const { n, is } of steps) {
        const item = items[n]!;
        if (is === 'delete') assert.equal(set.delete(item), like.delete(n));
        else if (!like.has(n)) {
          set.add(item);
          like.add(n);
        }
      }
      const numbers = () =>
        set
          .values()
          .map(({ n }) => n)
          .sort((a, b) => a - b);
      assert.deepEqual([set.size, numbers()], [like.size, [...like].sort((a, b) => a - b)]);
      for (const item of set.values()) set.delete(item);
      assert.deepEqual([set.size, set.values()], [0, []]);
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UniqueIds } from './unique-ids.ts';

test('an id that an earlier one has gets the next free number', () => {
  const ids = new UniqueIds();
  const taken = ['a', 'a_2', 'a', 'a', 'a_2', 'a_4', 'b'].map((id) => ids.take(id));
  assert.deepEqual(taken, ['a', 'a_2', 'a_3', 'a_4', 'a_2_2', 'a_4_2', 'b']);
  assert.equal(ids.take('b', ' '), 'b 2');
});

test('thousands of equal ids are told apart in no time', () => {
  const ids = new UniqueIds();
  const startMs = performance.now();
  for (let at = 0; at < 20_000; at += 1) ids.take('call');
  assert.equal(ids.take('call'), 'call_20001');
  assert.ok(performance.now() - startMs < 1_000, `${performance.now() - startMs} ms`);
});

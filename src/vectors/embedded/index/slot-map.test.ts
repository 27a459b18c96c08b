import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlotMap } from './slot-map.ts';

test('rows of slots are remembered with these, until a slot gets another row or loses it', () => {
  const map = createSlotMap();
  for (const slot of [5, 7, 900]) map.set(slot, slot * 2);
  const slots = Uint32Array.from([5, 6, 900]);
  const rows = map.rows(slots);
  assert.deepEqual([...rows], [10, 1800]);
  assert.equal(map.rows(slots), rows);
  map.set(6, 1);
  assert.deepEqual([...map.rows(slots)], [10, 1, 1800]);
  map.delete(5);
  assert.deepEqual([...map.rows(slots)], [1, 1800]);
});

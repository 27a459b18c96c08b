import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scannedPerStep } from '../index/resumable-steps.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { VectorTables } from '../vector-rows.ts';
import { scoreByFormula } from './score-by-formula.ts';

test('a formula reads a large result of prefetches in steps, between which others have the thread', () => {
  let read = 0;
  const points = { row: (_: number, slot: number) => ({ id: slot, payload: `{"n":${++read}}` }) };
  const slots = Uint32Array.from({ length: scannedPerStep * 10 }, (_, slot) => slot);
  const steps = scoreByFormula(
    { points } as unknown as VectorTables,
    { cid: 1 } as OpenCollection,
    { expression: { kind: 'neg', of: { kind: 'score', prefetch: 0 } }, defaults: {} },
    [{ slots, scores: Float64Array.from(slots) }],
    3,
  );
  let before = 0;
  for (let step = steps.next(); ; step = steps.next()) {
    assert.ok(read - before <= scannedPerStep, `${read - before} points in one step`);
    before = read;
    if (!step.done) continue;
    assert.deepEqual([...step.value.slots], [0, 1, 2]);
    break;
  }
  assert.equal(read, slots.length);
});

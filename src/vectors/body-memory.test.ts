import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBodyMemory } from './body-memory.ts';

test('the memory of a body that was read is the next one’s, and of one that was not read nobody’s', () => {
  const bodies = createBodyMemory();
  const first = bodies.take(1_000);
  assert.equal(first.byteLength, 1_024);
  assert.notEqual(bodies.take(1_000), first);
  bodies.give(first);
  assert.equal(bodies.take(900), first);
  assert.notEqual(bodies.take(1_000), first);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HintRelay } from './hint-relay.ts';

test('a worker that starts later gets the usual times of all workers in one hint, of some hundred samples', () => {
  const relay = new HintRelay();
  const usual = { target: 't', credential: 'c', kind: 'usual', of: 'whole' } as const;
  relay.take([{ ...usual, counts: [0, 12, 0] }]);
  relay.take([
    { ...usual, counts: [0, 6, 2] },
    { ...usual, of: 'stream', counts: [1, 0, 0] },
  ]);
  assert.deepEqual(relay.now(), [
    { ...usual, counts: [0, 18, 2] },
    { ...usual, of: 'stream', counts: [1, 0, 0] },
  ]);
  for (let time = 0; time < 100; time++) relay.take([{ ...usual, counts: [0, 0, 100] }]);
  const [, later] = relay.now();
  assert.ok(later?.kind === 'usual');
  assert.deepEqual(later.counts.map(Math.round), [0, 0, 200]);
});

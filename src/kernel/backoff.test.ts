import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from './backoff.ts';

test('pauses double from the first failure on, up to the longest', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 1e6].map((failures) => backoffMs(failures, { firstMs: 50, maxMs: 300 }));
  assert.deepEqual(pauses, [0, 50, 100, 200, 300, 300, 300]);
});

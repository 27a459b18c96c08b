import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { withinMs } from './within-ms.ts';

test('work in time gives its result or its error, and leaves no timer', async () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  assert.equal(await withinMs(60_000, pause(1, 'done'), 'late'), 'done');
  await assert.rejects(withinMs(60_000, Promise.reject(new Error('broken')), 'late'), /broken/);
  assert.equal(await withinMs(60_000, 'at once', 'late'), 'at once');
  const after = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  assert.equal(after, before);
});

test('work that takes longer is late, and may fail afterwards unseen', async () => {
  const failing = Promise.withResolvers<string>();
  assert.equal(await withinMs(1, failing.promise, 'late'), 'late');
  failing.reject(new Error('nobody waits'));
  await pause(1);
});

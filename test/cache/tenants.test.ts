import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testProcesses } from '../start-gateway.ts';
import { fuzzTenants } from './tenant-fuzz.ts';

test('of 1,500 requests of two keys in four formats, no two that differ share an answer', async () => {
  const { distinct, answers, hits } = await fuzzTenants({ requests: 1_500, texts: 1, seed: 28 });
  // Each was asked once, by each worker that had it before the answer of another was kept: all formats share one entry.
  assert.ok(answers >= distinct && answers <= distinct * testProcesses, `${answers} answers for ${distinct} requests`);
  assert.equal(hits, 1_500 - answers);
});

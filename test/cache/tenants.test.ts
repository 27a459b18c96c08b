import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzTenants } from './tenant-fuzz.ts';

test('of 1,500 requests of two keys in four formats, no two that differ share an answer', async () => {
  const { distinct, answers, hits } = await fuzzTenants({ requests: 1_500, texts: 1, seed: 28 });
  // Each was asked once: all formats share one entry.
  assert.deepEqual([answers, hits], [distinct, 1_500 - distinct]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Full, Limit } from '../../books/metering/counters.ts';
import { createKnownOver } from './known-over.ts';

const limit: Limit = { id: 'rpm', scope: 'account/dev', measure: 'calls', span: 'minute', allowed: 1, rule: 'exact' };
const over: Full = { kind: 'full', limit: 'rpm', scope: limit.scope, used: 1, allowed: 1, freeAtMs: 501_000 };

test('a refusal is not repeated beyond the instant that it names, however long the answer of Redis took', () => {
  let atMs = 10_000;
  const known = createKnownOver(() => atMs);
  // Redis refused it some time in these 200 ms, a second before it frees.
  known.learn(over, limit, [limit], 1, { redisNowMs: 500_000, answeredInMs: 200 });
  const find = () => known.find([limit], () => 1, 'fresh');
  atMs += 790;
  assert.equal(find(), over);
  atMs += 10;
  assert.equal(find(), null, 'Redis is asked again once it may pass');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RecentCall } from '../../books/metering/counters.ts';
import { RecentCalls } from './recent-calls.ts';

const keptMs = 65_000;

test('property: the calls of the last minute are those that were added, however many and whoever called', () => {
  const call = fc.record({
    account: fc.constantFrom('a', 'b'),
    key: fc.constantFrom('x', 'y'),
    endpoint: fc.constantFrom('chat', 'vectors'),
    laterMs: fc.nat(100),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 5_000, size: 'max' }), (all) => {
      const calls = new RecentCalls(keptMs);
      const added: (RecentCall & { account: string })[] = [];
      let nowMs = 1_000_000;
      for (const { account, key, endpoint, laterMs } of all) {
        nowMs += laterMs;
        const one = { atMs: nowMs, account, tenant: `${account}/${key}`, tier: key === 'x' ? 'large' : null, endpoint };
        calls.add(one.atMs, one);
        added.push(one);
      }
      const sinceMs = nowMs - 60_000;
      const expected = added.filter(({ atMs, account }) => account === 'a' && atMs >= sinceMs).reverse();
      assert.deepEqual(
        calls.of('a', sinceMs),
        expected.map(({ account: _, ...known }) => known),
      );
    }),
    { numRuns: 30 },
  );
});

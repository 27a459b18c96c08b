import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Full, Limit } from '../counters.ts';
import { limit } from '../plan-book.ts';
import { quotaExceeded } from './quota-message.ts';

const nowMs = Date.parse('2026-01-02T03:00:00.250Z');
const fiveHours = limit('5h', 'units', '5h', 50_000, 'a:dev');

function full(limited: Limit, used: number, freeAtMs: number | null): Full {
  const { id, scope, allowed } = limited;
  return { kind: 'full', limit: id, scope, used, allowed, freeAtMs };
}

test('the instant is rounded up to the second in words and members alike, so that who waits for it passes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (waitMs) => {
      const { freeAtMs, message } = quotaExceeded(full(fiveHours, 50_000, nowMs + waitMs), fiveHours, 1_000, nowMs, []);
      assert.ok(freeAtMs !== null && freeAtMs >= nowMs + waitMs && freeAtMs < nowMs + waitMs + 1_000);
      const [, at, seconds] = /passes at (\S+Z) \(in (\d+) s\)\.$/.exec(message)!;
      assert.equal(Date.parse(at!), freeAtMs);
      assert.ok(nowMs + Number(seconds) * 1_000 >= freeAtMs);
    }),
  );
});

test('decimals are shown as people write them', () => {
  const { message, used, allowed } = quotaExceeded(full(fiveHours, 49_950, nowMs + 1), fiveHours, 100, nowMs, []);
  assert.match(message, /: 5-hour window, 49\.95 of 50 requests used, and this one needs 0\.1\. The next/);
  assert.deepEqual([used, allowed], [49.95, 50]);
});

test('a limit of nothing says that no request ever passes, and a limit of one does not', () => {
  for (const [allowed, words] of [
    [0, /Such a request can never pass under this limit\.$/],
    [1, /It is not known when the next request passes\.$/],
  ] as const) {
    const tokens = limit('tokens:week', 'tokens', 'week', allowed, 'a:dev');
    assert.match(quotaExceeded(full(tokens, allowed, null), tokens, 0, nowMs, []).message, words);
  }
});

test('where nobody knows the instant, the message says so', () => {
  const tokens = limit('tokens:week', 'tokens', 'week', 100, 'a:dev');
  const { message, freeAtMs } = quotaExceeded(full(tokens, 100, null), tokens, 0, nowMs, []);
  assert.match(
    message,
    /: 7-day token window, 100 of 100 tokens used\. It is not known when the next request passes\.$/,
  );
  assert.equal(freeAtMs, null);
});

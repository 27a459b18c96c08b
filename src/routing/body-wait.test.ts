import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../test/machine-load.ts';
import type { JsonObject } from '../kernel/json.ts';
import { waitInBody } from './body-wait.ts';
import { retryAfterMs } from './retry-after.ts';

const wallMs = Date.parse('2026-07-01T12:00:00Z');

const words: [message: string, ms: number | null][] = [
  ['Rate limit reached. Please try again in 3s.', 3_000],
  ['Rate limit reached. Please try again in 1m30s. Visit us', 90_000],
  ['Please try again in 7m12.5s', 432_500],
  ['Please try again in 250ms.', 250],
  ['Please try again in 6m0s.', 360_000],
  ['Please retry after 14 seconds.', 14_000],
  ['Please wait 42 seconds before retrying.', 42_000],
  ['Try again in 1 minute and 30 seconds.', 90_000],
  ['Please retry in 34.07s.', 34_070],
  ['Your limit resets at 2026-07-01T12:00:30Z.', 30_000],
  ['Limit 6000, used 5000. Please try again in 2h', 7_200_000],
  ['Too many requests: 30 per minute.', null],
  ['Please wait. At most 5 s of audio are free.', null],
  ['You may retry 3 times.', null],
  ['', null],
];

for (const [message, ms] of words) {
  test(`F10 wait in words: ${message}`, () => assert.equal(waitInBody({ message }, wallMs), ms));
}

test('F10 wait in members, which go before words', () => {
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' };
  const cases: [members: JsonObject, ms: number][] = [
    [{ details: [{ '@type': 'x' }, retryInfo] }, 34_500],
    [{ retry_after_ms: 1_200 }, 1_200],
    [{ retry_after: '3' }, 3_000],
    [{ retry_after_seconds: 4 }, 4_000],
    [{ resets_in_seconds: 9 }, 9_000],
    [{ resets_at: '2026-07-01T12:00:30Z' }, 30_000],
    [{ metadata: { headers: { 'X-RateLimit-Reset': String(wallMs + 5_000) } } }, 5_000],
    [{ retry_after: null }, 20_000],
  ];
  for (const [members, ms] of cases) {
    assert.equal(waitInBody({ message: 'try again in 20s', members }, wallMs), ms, JSON.stringify(members));
  }
  assert.equal(waitInBody({ message: 'try again in 20s', retryAfterMs: 7_000 }, wallMs), 7_000);
});

test('F10 an explicit header goes before the body, and the body before what resets', () => {
  const headers = (all: Record<string, string>) => ({
    get: (name: string) => all[name],
    names: () => Object.keys(all),
  });
  assert.equal(retryAfterMs(headers({ 'retry-after': '9' }), wallMs, 3_000), 9_000);
  assert.equal(retryAfterMs(headers({ 'x-ratelimit-reset-requests': '9s' }), wallMs, 3_000), 3_000);
});

test('S21 words made to be slow to read are read at once', () => {
  const startMs = performance.now();
  waitInBody({ message: `again ${'1s '.repeat(100_000)}` }, wallMs);
  waitInBody({ message: `${'again '.repeat(100_000)}1` }, wallMs);
  waitInBody({ message: `retry ${'1'.repeat(500_000)}` }, wallMs);
  assertWithin(performance.now() - startMs, 500);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coolingMs, retryAfterMs } from './retry-after.ts';

const wallMs = Date.parse('2026-07-01T12:00:00Z');

function waitOf(headers: Record<string, string>): number | null {
  return retryAfterMs({ get: (name) => headers[name], names: () => Object.keys(headers) }, wallMs);
}

const cases: [what: string, headers: Record<string, string>, ms: number | null][] = [
  ['nothing said', {}, null],
  ['Retry-After in seconds', { 'retry-after': '7' }, 7_000],
  ['Retry-After with a fraction', { 'retry-after': '1.5' }, 1_500],
  ['Retry-After as an HTTP-date', { 'retry-after': 'Wed, 01 Jul 2026 12:00:30 GMT' }, 30_000],
  ['an HTTP-date in the past', { 'retry-after': 'Wed, 01 Jul 2026 11:00:00 GMT' }, 1_000],
  ['retry-after-ms', { 'retry-after-ms': '2250' }, 2_250],
  ['retry-after-ms over Retry-After', { 'retry-after-ms': '2250', 'retry-after': '3' }, 2_250],
  ['Retry-After over resets', { 'retry-after': '3', 'x-ratelimit-reset-requests': '1m' }, 3_000],
  ['Retry-After: 0 is a wait too, of the least', { 'retry-after': '0', 'x-ratelimit-reset-requests': '1m' }, 1_000],
  ['a duration in s', { 'x-ratelimit-reset-requests': '2s' }, 2_000],
  ['a duration in m and s', { 'x-ratelimit-reset-tokens': '1m30s' }, 90_000],
  ['a duration with zero seconds', { 'x-ratelimit-reset-tokens': '4m0s' }, 240_000],
  ['a duration in ms, clamped up', { 'x-ratelimit-reset-tokens': '120ms' }, 1_000],
  ['a duration with a fraction', { 'x-ratelimit-reset-tokens': '8.64s' }, 8_640],
  ['epoch seconds', { 'x-ratelimit-reset-requests': String(wallMs / 1_000 + 20) }, 20_000],
  ['epoch milliseconds', { 'x-ratelimit-reset': String(wallMs + 20_000) }, 20_000],
  ['the later of two resets', { 'x-ratelimit-reset-requests': '2s', 'x-ratelimit-reset-tokens': '9s' }, 9_000],
  [
    'only the limit that is used up',
    {
      'x-ratelimit-reset-requests': '2s',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-tokens': '9s',
      'x-ratelimit-remaining-tokens': '700',
    },
    2_000,
  ],
  ["Anthropic's date", { 'anthropic-ratelimit-requests-reset': '2026-07-01T12:00:12Z' }, 12_000],
  [
    "Anthropic's used-up limit",
    {
      'anthropic-ratelimit-input-tokens-reset': '2026-07-01T12:00:40Z',
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-07-01T12:00:50Z',
      'anthropic-ratelimit-requests-remaining': '12',
    },
    40_000,
  ],
  ['of the IETF', { 'ratelimit-reset': '12' }, 12_000],
  ['of the IETF, newer', { ratelimit: '"day";r=7;t=90, "minute";r=0;t=12' }, 12_000],
  [
    'of the IETF, older',
    {
      ratelimit: 'limit=9, remaining=0, reset=12',
      'x-ratelimit-reset-tokens': '90s',
      'x-ratelimit-remaining-tokens': '7',
    },
    12_000,
  ],
  ['with the limit behind', { 'x-ratelimit-reset-input-tokens': '12s' }, 12_000],
  ['with the limit before', { 'x-ratelimitbysize-reset': '12' }, 12_000],
  ['spelt apart', { 'x-rate-limit-reset': '12' }, 12_000],
  ['of Claude plans', { 'anthropic-ratelimit-unified-reset': String(wallMs / 1_000 + 12) }, 12_000],
  [
    'the exhausted one, however it is spelt',
    { 'x-ratelimitbysize-reset': '12', 'x-ratelimitbysize-remaining': '0', 'ratelimit-reset': '90' },
    12_000,
  ],
  ['never above 5 min', { 'retry-after': '86400' }, 300_000],
  ['negative', { 'retry-after': '-5' }, null],
  ['words', { 'retry-after': 'soon' }, null],
  ['a word that a lenient parser takes for a date', { 'retry-after': 'apples 5' }, null],
  ['an unreadable one leaves the next to speak', { 'retry-after': 'later', 'x-ratelimit-reset-requests': '2s' }, 2_000],
  ['endless digits', { 'retry-after': '9'.repeat(5_000) }, null],
  ['a broken duration', { 'x-ratelimit-reset-tokens': '6m0' }, null],
];

for (const [what, headers, ms] of cases) {
  test(`F10 wait: ${what}`, () => assert.equal(waitOf(headers), ms));
}

test('F10 a cooling takes what the upstream asked, within 1 s and 5 min, or 5 s when it says nothing', () => {
  assert.equal(coolingMs(7_500), 7_500);
  assert.equal(coolingMs(0), 1_000);
  assert.equal(coolingMs(86_400_000), 300_000);
  assert.equal(coolingMs(null), 5_000);
  assert.equal(coolingMs(Number.NaN), 5_000);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alone, exceeded, metered, shownHeaders } from '../../../../test/fixtures/quota.ts';
import type { Admitted } from '../admission.ts';
import { limit } from '../plan-book.ts';
import { limitHeaders } from './limit-headers.ts';

test('headers after the entry tell the minute, those of the reservation everything once', async () => {
  const { admit, admission, claimOf, clock } = metered({ rpm: 60, windows: { '5h': 50, week: 300 }, tpm: 400 });
  const admitted = admit();
  assert.ok(admitted.kind === 'admitted');
  assert.deepEqual(shownHeaders(admitted.headers), {
    'ratelimit-policy': '"minute";q=60;w=60',
    ratelimit: '"minute";r=59;t=61',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1m1s',
  });
  clock.advance(200);
  const reserved = await admission.reserve(claimOf(admitted, { costMilli: 1_050 }));
  assert.ok(reserved.kind === 'reserved');
  assert.deepEqual(shownHeaders(reserved.headers), {
    'ratelimit-policy':
      '"minute";q=60;w=60, "5h";q=50;w=18000, "week";q=300;w=604800, "tokens:minute";q=400;qu="tokens";w=60',
    ratelimit: '"minute";r=59;t=61, "5h";r=48;t=18060, "week";r=298;t=608400, "tokens:minute";r=400',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1m1s',
    'x-ratelimit-limit-tokens': '400',
    'x-ratelimit-remaining-tokens': '400',
  });
  const names = reserved.headers.filter((_, i) => i % 2 === 0);
  assert.equal(new Set(names).size, names.length);
});

test("Anthropic's form has its own names, and instants for resets", () => {
  const { admission } = metered({ rpm: 60 });
  const admitted = admission.admit(alone, 'one', { requestId: 'r', form: 'anthropic' }) as Admitted;
  const { 'ratelimit-policy': _, ratelimit: __, ...own } = shownHeaders(admitted.headers);
  assert.deepEqual(own, {
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '59',
    'anthropic-ratelimit-requests-reset': '2026-01-02T03:01:01Z',
  });
});

test('a 429 carries the limit that was reached, beside the minute that the request did count in', async () => {
  const { reserve } = metered({ rpm: 60, windows: { '5h': 1 } });
  await reserve();
  const headers = shownHeaders(exceeded(await reserve()).headers ?? []);
  assert.equal(headers.ratelimit, '"minute";r=58;t=61, "5h";r=0;t=18060');
  assert.equal(headers['x-ratelimit-limit-requests'], '1');
  assert.equal(headers['x-ratelimit-remaining-requests'], '0');
  assert.equal(headers['x-ratelimit-reset-requests'], '5h1m0s');
});

test('without any limit there are no headers', async () => {
  const { reserve } = metered({ rpm: 'off' });
  const reserved = await reserve();
  assert.ok(reserved.kind === 'reserved');
  assert.deepEqual(reserved.headers, []);
});

test('of limits of the plan and of the key, the dialect’s headers name the one with the least left', () => {
  const [plan, key] = ['a:dev', 'k:dev/app'];
  const calls = [limit('minute', 'calls', 'minute', 60_000, plan), limit('minute', 'calls', 'minute', 10_000, key)];
  const tokens = [900, 5_000].map((allowed, at) =>
    limit('tokens:minute', 'tokens', 'minute', allowed, [plan, key][at]!),
  );
  const headers = limitHeaders(calls, tokens)!;
  const states = (used: readonly number[]) => used.map((each, at) => ({ used: each, leavesAtMs: 1_000 * (at + 1) }));
  const named = (list: readonly string[], what: string) =>
    ['limit', 'remaining', 'reset'].map((name) => list[list.indexOf(`x-ratelimit-${name}-${what}`) + 1]);
  const early = headers.reserved(states([1_000, 1_000]), states([0, 4_500]), 0, 'openai');
  assert.deepEqual(named(early, 'requests'), ['10', '9', '2s']);
  assert.deepEqual(named(early, 'tokens'), ['5000', '500', '2s']);
  const late = headers.reserved(states([55_000, 1_000]), states([899, 0]), 0, 'openai');
  assert.deepEqual(named(late, 'requests'), ['60', '5', '1s']);
  assert.deepEqual(named(late, 'tokens'), ['900', '1', '1s']);
  assert.deepEqual(named(headers.entered(states([55_000, 10_000]), 0, 'openai'), 'requests'), ['10', '0', '2s']);
});

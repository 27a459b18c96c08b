import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { type Asked, alone, exceeded, metered, startMs } from '../../../test/fixtures/quota.ts';
import { configSchema } from '../../config/schema.ts';
import type { Principal } from '../auth/principal.ts';
import type { Admitted } from './admission.ts';
import { createPlanBook } from './plan-book.ts';
import { createLimitedAdmission } from './quota.ts';

test('free calls have a count of their own, 20 to a call of the minute, and take no place', () => {
  const { admission, clock } = metered({ rpm: 2, concurrency: 1 });
  const admit = (weight: 'one' | 'free') => {
    const answer = admission.admit(alone, weight, { requestId: 'r', form: 'openai' });
    assert.ok(!(answer instanceof Promise), 'without a promise');
    return answer;
  };
  const one = admit('one');
  assert.ok(one.kind === 'admitted');
  for (let i = 0; i < 40; i++) assert.equal(admit('free').kind, 'admitted');
  const { message, limit, freeAtMs } = exceeded(admit('free'));
  assert.equal(limit, 'free');
  assert.match(
    message,
    /^Rate limit exceeded: free requests per minute, 20 of which count as one, 2 of 2 requests used\. The next /,
  );
  assert.ok(freeAtMs !== null && freeAtMs <= clock.wallMs() + 62_000);
  one.release();
  assert.equal(admit('one').kind, 'admitted', 'calls that cost go on');
  clock.advance(61_000);
  assert.equal(admit('free').kind, 'admitted');
});

test('a free call passes at once where no limit is on calls', () => {
  const admitted = metered({ rpm: 'off' }).admission.admit(alone, 'free', { requestId: 'r', form: 'openai' });
  assert.ok(!(admitted instanceof Promise) && admitted.kind === 'admitted');
  assert.deepEqual(admitted.headers, []);
});

test('requests per minute are exact, a vector call counts 0.05, and the answer comes without a promise', () => {
  const { admission, clock } = metered({ rpm: 2 });
  const admit = (weight: 'one' | 'vector') => {
    const answer = admission.admit(alone, weight, { requestId: 'r', form: 'openai' });
    assert.ok(!(answer instanceof Promise));
    return answer.kind;
  };
  assert.equal(admit('one'), 'admitted');
  for (let i = 0; i < 20; i++) assert.equal(admit('vector'), 'admitted');
  assert.equal(admit('vector'), 'quota-exceeded');
  clock.advance(61_000);
  assert.equal(admit('one'), 'admitted');
});

test('a full window says used, allowed and the instant at which the next request passes, and passes then', async () => {
  const { reserve, clock } = metered({ windows: { '5h': 50 }, rpm: 'off' });
  clock.advance(30_500);
  for (let i = 0; i < 50; i++) assert.equal((await reserve()).kind, 'reserved');
  clock.advance(5 * 3_600_000 - 240_000);
  const failure = exceeded(await reserve());
  const { kind: _, headers: __, message, ...facts } = failure;
  assert.equal(
    message,
    'Rate limit exceeded: 5-hour window, 50 of 50 requests used. The next request passes at 2026-01-02T08:01:00Z (in 270 s).',
  );
  const freeAtMs = Date.parse('2026-01-02T08:01:00Z');
  assert.deepEqual(facts, { limit: '5h', window: '5h', used: 50, allowed: 50, freeAtMs });
  clock.advance(freeAtMs - clock.wallMs() - 1);
  exceeded(await reserve());
  clock.advance(1);
  assert.equal((await reserve()).kind, 'reserved');
});

const wordings: [plan: Record<string, unknown>, way: Asked, limit: string, window: string | null, words: RegExp][] = [
  [
    { rpm: 1 },
    {},
    'minute',
    null,
    /^Rate limit exceeded: requests per minute, 1 of 1 requests used\. The next request passes at 2026-01-02T03:01:01Z \(in 61 s\)\.$/,
  ],
  [{ windows: { week: 1 } }, {}, 'week', 'week', /: 7-day window, 1 of 1 requests used\. The next/],
  [{ windows: { month: 1 } }, {}, 'month', 'month', /: 30-day window, 1 of 1 requests used\. The next/],
  [
    { tier_limits: { premium: { rpm: 1 } } },
    { tier: 'premium' },
    'tier:premium:rpm',
    null,
    /: tier premium, requests per minute, 1 of 1 requests used\. The next/,
  ],
  [
    { tier_limits: { premium: { '5h': 1 } } },
    { tier: 'premium' },
    'tier:premium:5h',
    null,
    /: tier premium, 5-hour window, 1 of 1 requests used\. The next/,
  ],
  [
    { tpm: 100 },
    {},
    'tokens:minute',
    null,
    /: tokens per minute, 120 of 100 tokens used\. The next request passes at 2026-01-02T03:01:01Z/,
  ],
  [{ tokens: { month: 100 } }, {}, 'tokens:month', null, /: 30-day token window, 120 of 100 tokens used\. The next/],
  [{ budget: { week: 0.5 } }, {}, 'budget:week', null, /: 7-day budget, 0\.75 of 0\.5 USD used\. The next/],
];
for (const [plan, way, limit, window, words] of wordings) {
  test(`the 429 of ${limit} names it in words and members`, async () => {
    const { reserve, settled, admit, claimOf } = metered(plan);
    const first = await reserve(way);
    assert.ok(first.kind === 'reserved');
    const claim = claimOf({ kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} }, way);
    settled(first, { costMilli: 1_000, tokens: 120, usdNano: 750_000_000 }, claim);
    const failure = exceeded(limit === 'minute' ? admit() : await reserve(way));
    assert.deepEqual([failure.limit, failure.window], [limit, window]);
    assert.match(failure.message, words);
  });
}

test('a 429 for concurrency knows no instant, and a place that is given back lets the next in', () => {
  const { admit } = metered({ concurrency: 1, rpm: 'off' });
  const first = admit();
  assert.ok(first.kind === 'admitted');
  const failure = exceeded(admit());
  assert.equal(
    failure.message,
    'Rate limit exceeded: concurrency, 1 of 1 requests running. The next request passes as soon as one of them has ended.',
  );
  assert.deepEqual([failure.limit, failure.freeAtMs], ['concurrency', null]);
  first.release();
  first.release();
  assert.equal(admit().kind, 'admitted');
  exceeded(admit());
});

test('a request that needs more than is left, or than ever is, is told so', async () => {
  const { reserve } = metered({ windows: { '5h': 3 } });
  assert.equal((await reserve({ costMilli: 2_000 })).kind, 'reserved');
  assert.match(
    exceeded(await reserve({ costMilli: 2_000 })).message,
    /2 of 3 requests used, and this one needs 2\. The next request passes at/,
  );
  const never = exceeded(await reserve({ costMilli: 4_000 }));
  assert.match(never.message, /2 of 3 requests used, and this one needs 4\. Such a request can never pass/);
  assert.equal(never.freeAtMs, null);
  const nothing = metered({ windows: { '5h': 0 }, tokens: { week: 0 } });
  assert.match(exceeded(await nothing.reserve()).message, /0 of 0 .* used\. Such a request can never pass/);
});

test("a key's own limit says that it is the key's, and leaves the account's other keys alone", async () => {
  const { reserve } = metered({ rpm: 'off', windows: { '5h': 100 } });
  const tight: Principal = { ...alone, limits: { windows: { '5h': 1 } } };
  const other: Principal = { ...alone, tenant: 'dev/phone' };
  assert.equal((await reserve({ principal: tight })).kind, 'reserved');
  const failure = exceeded(await reserve({ principal: tight }));
  assert.match(failure.message, /: 5-hour window of this key, 1 of 1 requests used/);
  assert.equal(failure.limit, '5h');
  assert.equal((await reserve({ principal: other })).kind, 'reserved');
});

test('all limits are taken at once or none: a full tier leaves the windows as they are', async () => {
  const { reserve, counters } = metered({ windows: { '5h': 5 }, tier_limits: { premium: { '5h': 1 } } });
  assert.equal((await reserve({ tier: 'premium' })).kind, 'reserved');
  exceeded(await reserve({ tier: 'premium' }));
  const limit = { id: '5h', scope: 'a:dev', measure: 'units', span: '5h', allowed: 5_000, rule: 'exact' } as const;
  assert.deepEqual(
    (await counters.read('dev', [limit])).map(({ used }) => used),
    [1_000],
  );
});

test('F33, F41: books that cannot commit refuse with quota_unavailable and hold nothing', async () => {
  const { reserve, breakLedger, rows } = metered({ windows: { '5h': 1 } });
  const failure = { kind: 'quota-unavailable', message: 'no' } as const;
  breakLedger(failure);
  for (let i = 0; i < 3; i++) assert.deepEqual(await reserve(), failure);
  breakLedger(null);
  assert.equal((await reserve()).kind, 'reserved');
  assert.deepEqual(
    rows.map(({ bootId, costMilli, quotaMs }) => [bootId, costMilli, quotaMs]),
    [['boot-1', 1_000, startMs]],
  );
});

test('F41: counters that cannot be asked refuse with quota_unavailable, before the body and after the model', async () => {
  const config = configSchema.parse({ plans: { p: {} } });
  const book = createPlanBook({ config, stored: [] });
  const gone = { kind: 'unavailable', reason: 'the counters are away' } as const;
  const admission = createLimitedAdmission({
    counters: { enter: async () => gone, hold: () => gone, settle() {}, read: async () => [] },
    ledger: { open: () => Promise.reject(new Error('must not be asked')) },
    plans: () => book,
    bootId: 'b',
    clock: fakeClock(),
    observe() {},
  });
  const entry = await admission.admit(alone, 'one', { requestId: 'r', form: 'openai' });
  assert.ok(entry.kind === 'quota-unavailable');
  assert.match(entry.message, /^Quota is unavailable: the counters are away\./);
  const free = await admission.admit(alone, 'free', { requestId: 'r', form: 'openai' });
  assert.equal(free.kind, 'admitted', 'what costs nothing goes on');
  const { claimOf } = metered({});
  const admitted: Admitted = { kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} };
  assert.equal((await admission.reserve(claimOf(admitted, {}))).kind, 'quota-unavailable');
});

test('what is not used comes back: a refunded request lets the next one in', async () => {
  const { reserve, settled, claimOf } = metered({ windows: { '5h': 1 } });
  const first = await reserve();
  assert.ok(first.kind === 'reserved');
  exceeded(await reserve());
  const claim = claimOf({ kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} }, {});
  settled(first, { costMilli: 0, tokens: 0, usdNano: 0 }, claim);
  assert.equal((await reserve()).kind, 'reserved');
});

test('a plan change applies to live windows at once', async () => {
  const { reserve, change } = metered({ windows: { '5h': 1 } });
  assert.equal((await reserve()).kind, 'reserved');
  exceeded(await reserve());
  change({ windows: { '5h': 2 } });
  assert.equal((await reserve()).kind, 'reserved');
  exceeded(await reserve());
  change({ windows: 'off' });
  assert.equal((await reserve()).kind, 'reserved');
  change({ windows: { '5h': 3 } });
  assert.match(exceeded(await reserve()).message, /3 of 3/);
});

test('limits are observed after each hold, and those paid afterwards again after settlement', async () => {
  const notify = { webhook: 'https://h.example/x', secret: 'a-secret-of-more-than-thirty-two-bytes' };
  const { reserve, settled, seen, claimOf } = metered({ windows: { '5h': 9 }, tokens: { week: 100 }, notify });
  const first = await reserve();
  assert.ok(first.kind === 'reserved');
  const claim = claimOf({ kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} }, {});
  settled(first, { costMilli: 1_000, tokens: 120, usdNano: 0 }, claim);
  await new Promise(setImmediate);
  assert.deepEqual(seen, ['5h 1000, tokens:week 0', 'tokens:week 120']);
});

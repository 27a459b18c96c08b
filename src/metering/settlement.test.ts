import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from '../kernel/failure.ts';
import type { Claim, Reservation } from './admission.ts';
import type { Charge, Delivery } from './charge.ts';
import type { ReservationRow, UsageEvent } from './ledger.ts';
import { usdOf } from './price.ts';
import { createSettlement, type RequestFacts } from './settlement.ts';
import { createUnlimitedAdmission } from './unlimited-admission.ts';

const claim: Claim = {
  requestId: 'req_1',
  principal: {
    keyId: 'k1',
    keyName: 'laptop',
    tenant: 'dev/laptop',
    account: 'dev',
    plan: 'pro',
    allowedModels: null,
  },
  endpoint: 'chat',
  alias: 'smart',
  tier: null,
  costMilli: 2_000,
  inputTokensEstimate: 70,
  atMs: 1_750_000_000_000,
};

const finished: RequestFacts = {
  claim,
  clientRequestId: null,
  delivery: 'whole',
  status: 200,
  class: 'ok',
  stream: true,
  aborted: false,
  ms: 812.4,
  firstTokenMs: 99.6,
  target: 'openai/gpt-x',
  price: { input: 2.5, output: 10, cachedInput: 0.25 },
  usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 5 },
  usageSource: 'upstream',
  user: null,
  route: { attempts: [] },
};

function reservation(): Reservation {
  return { kind: 'reserved', requestId: 'req_1', costMilli: 2_000, headers: [], state: 'open' };
}

function books() {
  const events: UsageEvent[] = [];
  const refunds: Charge[] = [];
  const settlement = createSettlement({ close: (event) => void events.push(event) }, (_, charge) =>
    refunds.push(charge),
  );
  return { events, refunds, settlement };
}

const rules: [Delivery, Partial<RequestFacts>, Partial<UsageEvent>][] = [
  ['whole', {}, { costMilli: 2_000, inputTokens: 100, outputTokens: 50, usageSource: 'upstream' }],
  ['part', { aborted: true }, { costMilli: 2_000, outputTokens: 50 }],
  ['part', { usageSource: 'counted' }, { costMilli: 2_000, usageSource: 'counted' }],
  ['whole', { usage: null, usageSource: 'none' }, { costMilli: 2_000, inputTokens: 70, usageSource: 'estimated' }],
  // Before the first token: units back, the input that was sent is paid.
  ['abandoned', { usage: null }, { costMilli: 0, inputTokens: 70, outputTokens: 0, usageSource: 'estimated' }],
  ['abandoned', {}, { costMilli: 0, inputTokens: 100, outputTokens: 0, reasoningTokens: 0 }],
  // Failed upstream, our own error, bad input: free.
  ['nothing', { status: 502, class: 'transient' }, { costMilli: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 }],
  ['nothing', { usage: null, price: null }, { costMilli: 0, costUsd: null, usageSource: 'none' }],
];

for (const [delivery, facts, expected] of rules) {
  test(`${delivery} delivered, ${JSON.stringify(facts)}: ${JSON.stringify(expected)}`, () => {
    const { settlement, events } = books();
    settlement.settle(reservation(), { ...finished, ...facts, delivery });
    const got = events[0]!;
    for (const [field, value] of Object.entries(expected)) assert.equal(got[field as keyof UsageEvent], value, field);
  });
}

test('settled twice is settled once', () => {
  const { settlement, events, refunds } = books();
  const held = reservation();
  assert.ok(settlement.settle(held, finished) !== null);
  assert.equal(settlement.settle(held, { ...finished, delivery: 'nothing' }), null);
  assert.equal(events.length, 1);
  assert.equal(refunds.length, 1);
});

test('the event carries the claim, whole ms and other kinds of usage', () => {
  const { settlement } = books();
  const usage = { inputTokens: 0, outputTokens: 0, characters: 12, audioMs: 3_000, images: 2 };
  const event = settlement.settle(reservation(), { ...finished, usage });
  assert.equal(event?.account, 'dev');
  assert.equal(event?.tenant, 'dev/laptop');
  assert.equal(event?.ms, 812);
  assert.equal(event?.firstTokenMs, 100);
  assert.deepEqual([event?.characters, event?.audioMs, event?.images], [12, 3_000, 2]);
});

test('USD: cached input at its own price, unknown price null, no binary dust', () => {
  const price = { input: 2.5, output: 10, cachedInput: 0.25 };
  assert.equal(usdOf({ inputTokens: 1_000_000, outputTokens: 0 }, price), 2.5);
  assert.equal(usdOf({ inputTokens: 100, outputTokens: 50, cachedInputTokens: 40 }, price), 0.00066);
  assert.equal(
    usdOf({ inputTokens: 100, outputTokens: 0, cachedInputTokens: 40 }, { ...price, cachedInput: null }),
    0.00025,
  );
  assert.equal(usdOf({ inputTokens: 5, outputTokens: 5 }, null), null);
});

test('admission writes the reservation before it grants', async () => {
  const rows: ReservationRow[] = [];
  const admission = createUnlimitedAdmission({ open: async (row) => void rows.push(row) }, 'boot-1');
  const granted = await admission.reserve(claim);
  assert.deepEqual(granted, { kind: 'reserved', requestId: 'req_1', costMilli: 2_000, headers: [], state: 'open' });
  assert.equal(rows[0]?.bootId, 'boot-1');
  assert.equal(rows[0]?.costMilli, 2_000);
});

test('a ledger that cannot record is 503 quota_unavailable, never a grant', async () => {
  const failure = { kind: 'quota-unavailable', message: 'no' } as const;
  const admission = createUnlimitedAdmission({ open: () => Promise.reject(new FailureError(failure)) }, 'b');
  assert.deepEqual(await admission.reserve(claim), failure);
});

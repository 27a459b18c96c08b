import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../../config/schema.ts';
import { createPrice } from '../../formats/neutral/price.ts';
import type { Claim, Delivered, RequestFacts, Reservation } from './admission.ts';
import type { Spent } from './counters.ts';
import type { UsageEvent } from './ledger.ts';
import type { Plan } from './plan.ts';
import { planOf } from './plan-rules.ts';
import { createSettlement } from './settlement.ts';

const claim: Claim = {
  requestId: 'req_1',
  principal: {
    keyId: 'k1',
    keyName: 'laptop',
    tenant: 'dev/laptop',
    account: 'dev',
    plan: 'pro',
    allowedModels: null,
    limits: null,
    guards: [],
  },
  admitted: { kind: 'admitted', headers: [], calls: [], form: 'openai', release() {} },
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
  price: createPrice([{ rates: { input: 2.5, output: 10, cachedInput: 0.25 } }]),
  usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 5 },
  usageSource: 'upstream',
  besideUsd: 0,
  user: null,
  tag: null,
  route: { attempts: [] },
};

function reservation(): Reservation {
  const held = { kind: 'held', requestId: 'req_1', account: 'dev', scopes: [], costMilli: 2_000, states: [] } as const;
  return {
    kind: 'reserved',
    requestId: 'req_1',
    costMilli: 2_000,
    held: { ...held, quotaMs: heldMs },
    headers: [],
    state: 'open',
  };
}

/** The counters' own clock says when units were held. */
const heldMs = claim.atMs + 40;

function books(abandoned: Plan['abandoned'] = 'tokens') {
  const events: UsageEvent[] = [];
  const spent: Spent[] = [];
  const settlement = createSettlement(
    { close: (event) => void events.push(event), began() {} },
    (_, each) => spent.push(each),
    () => ({ plan: () => ({ ...plan, abandoned }) }),
  );
  return { events, spent, settlement };
}

const plan = planOf('pro', configSchema.parse({ plans: { pro: {} } }).plans.pro!, {});

test('a plan says what is paid by callers who leave before the first content', () => {
  const paid = (abandoned: Plan['abandoned'], facts: Partial<RequestFacts>) => {
    const { settlement, events } = books(abandoned);
    settlement.settle(reservation(), { ...finished, ...facts, delivery: 'abandoned' });
    const { costMilli, inputTokens, outputTokens, usageSource } = events[0]!;
    return [costMilli, inputTokens, outputTokens, usageSource];
  };
  const unknown = { usage: null, usageSource: 'none' } as const;
  assert.deepEqual(
    [paid('free', {}), paid('free', unknown)],
    [
      [0, 0, 0, 'none'],
      [0, 0, 0, 'none'],
    ],
  );
  assert.deepEqual(
    [paid('tokens', {}), paid('tokens', unknown)],
    [
      [0, 100, 0, 'upstream'],
      [0, 70, 0, 'estimated'],
    ],
  );
  assert.deepEqual(
    [paid('full', {}), paid('full', unknown)],
    [
      [2_000, 100, 50, 'upstream'],
      [2_000, 70, 0, 'estimated'],
    ],
  );
});

const rules: [Delivered, Partial<RequestFacts>, Partial<UsageEvent>][] = [
  ['whole', {}, { costMilli: 2_000, inputTokens: 100, outputTokens: 50, usageSource: 'upstream' }],
  ['partial', { aborted: true }, { costMilli: 2_000, outputTokens: 50 }],
  ['partial', { usageSource: 'counted' }, { costMilli: 2_000, usageSource: 'counted' }],
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

test('where nothing is charged, a price for each request is not either', () => {
  const { settlement } = books();
  const price = createPrice([{ rates: { input: 1, request: 0.5 } }]);
  assert.equal(settlement.settle(reservation(), { ...finished, price })?.costUsd, 0.5001);
  assert.equal(settlement.settle(reservation(), { ...finished, price, delivery: 'nothing' })?.costUsd, 0);
});

test('settled twice is settled once', () => {
  const { settlement, events, spent } = books();
  const held = reservation();
  assert.ok(settlement.settle(held, finished) !== null);
  assert.equal(settlement.settle(held, { ...finished, delivery: 'nothing' }), null);
  assert.equal(events.length, 1);
  assert.equal(spent.length, 1);
});

test('the counters are told what is kept, tokens and USD, in the whole numbers of the books', () => {
  const { settlement, events, spent } = books();
  settlement.settle(reservation(), finished);
  settlement.settle(reservation(), { ...finished, delivery: 'abandoned' });
  settlement.settle(reservation(), { ...finished, delivery: 'nothing' });
  assert.deepEqual(spent, [
    { costMilli: 2_000, tokens: 150, usdNano: 660_000 },
    { costMilli: 0, tokens: 100, usdNano: 160_000 },
    { costMilli: 0, tokens: 0, usdNano: 0 },
  ]);
  assert.deepEqual([events[0]?.quotaMs, events[0]?.settledMs], [heldMs, claim.atMs + 812]);
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

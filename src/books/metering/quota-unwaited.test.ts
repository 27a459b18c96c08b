import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { alone, exceeded, metered } from '../../../test/fixtures/quota.ts';
import { configSchema } from '../../config/schema.ts';
import type { Admitted, Arrival } from './admission.ts';
import { createPlanBook } from './plan-book.ts';
import { createLimitedAdmission } from './quota.ts';

let requests = 0;

/** Admits and reserves, with what `more` notes on the request between the two. */
async function ask(
  { admission, claimOf }: ReturnType<typeof metered>,
  arrival: Partial<Arrival> = {},
  more: Partial<Admitted> = {},
  tier: string | null = null,
) {
  const requestId = `req_${++requests}`;
  const admitted = await admission.admit(alone, 'one', { requestId, form: 'openai', ...arrival });
  if (admitted.kind !== 'admitted') return { admitted, answer: admitted };
  Object.assign(admitted, more);
  return { admitted, answer: await admission.reserve({ ...claimOf(admitted, { tier }), requestId }) };
}

test('requests that nobody waits for leave a quarter of each minute to others, and take no place', async () => {
  const parts = metered({ rpm: 8, concurrency: 1 });
  for (let i = 0; i < 6; i += 1) assert.equal((await ask(parts, { isSparing: true })).answer.kind, 'reserved');
  exceeded((await ask(parts, { isSparing: true })).answer);
  const { admitted, answer } = await ask(parts);
  assert.equal(answer.kind, 'reserved', 'the rest is for others');
  assert.equal((await ask(parts)).answer.kind, 'quota-exceeded', 'who waits takes a place');
  assert.ok(admitted.kind === 'admitted');
  admitted.release();
  assert.equal((await ask(parts)).answer.kind, 'reserved');
});

test('requests that nobody waits for may use a limit of one a minute, and longer windows whole', async () => {
  const one = metered({ rpm: 1 });
  assert.equal((await ask(one, { isSparing: true })).answer.kind, 'reserved');
  exceeded((await ask(one, { isSparing: true })).answer);
  const windows = metered({ rpm: 'off', windows: { '5h': 4 } });
  for (let i = 0; i < 4; i += 1) assert.equal((await ask(windows, { isSparing: true })).answer.kind, 'reserved');
  exceeded((await ask(windows, { isSparing: true })).answer);
  const tier = metered({ rpm: 'off', tier_limits: { premium: { rpm: 8 } } });
  const reserve = async () => (await ask(tier, { isSparing: true }, {}, 'premium')).answer;
  for (let i = 0; i < 6; i += 1) assert.equal((await reserve()).kind, 'reserved');
  exceeded(await reserve());
});

test('no limit refuses what a provider does already', async () => {
  const parts = metered({ rpm: 'off', windows: { '5h': 1 } });
  assert.equal((await ask(parts)).answer.kind, 'reserved');
  exceeded((await ask(parts)).answer);
  const { answer } = await ask(parts, {}, { isOwed: true });
  assert.ok(answer.kind === 'reserved');
  assert.deepEqual(answer.headers, [], 'it was held against no limit, so it has none to show');
});

test('lines of a day are held against what earlier lines will use, and no limit of a minute refuses them', async () => {
  const plan = { rpm: 'off', tpm: 1, tokens: { month: 1_000 }, budget: { month: 2 }, windows: { '5h': 9 } };
  const parts = metered(plan);
  const expecting = (tokens: number, usdNano: number) => ask(parts, {}, { expected: { tokens, usdNano } });
  assert.equal((await expecting(999, 1e9)).answer.kind, 'reserved');
  assert.equal(exceeded((await expecting(1_000, 1e9)).answer).limit, 'tokens:month');
  assert.equal(exceeded((await expecting(2_000, 1e9)).answer).allowed, 0);
  assert.equal(exceeded((await expecting(0, 2e9)).answer).limit, 'budget:month');
  const { answer } = await expecting(0, 0);
  assert.ok(answer.kind === 'reserved');
  assert.deepEqual(answer.headers, [], 'limits of a minute are left out, so nothing is shown');
  assert.deepEqual(parts.seen, [], 'and no notice is made of them');
});

test('a reservation names its model and says whether the books know the request', async () => {
  const parts = metered({ rpm: 'off' });
  const { admitted } = await ask(parts);
  assert.ok(admitted.kind === 'admitted');
  assert.deepEqual([admitted.requestedModel, admitted.booked], ['small', true]);
  assert.deepEqual(parts.seen, [], 'a plan without notices has nothing observed');
  parts.breakLedger({ kind: 'quota-unavailable', message: 'no' });
  const refused = await ask(parts);
  assert.ok(refused.admitted.kind === 'admitted');
  assert.equal(refused.admitted.booked, false);
});

test('while something keeps the books from being written, only free calls pass', async () => {
  const trouble: { trouble: string | null } = { trouble: 'the disk is full' };
  const mustNotAsk = () => assert.fail('must not be asked');
  const admission = createLimitedAdmission({
    counters: { enter: mustNotAsk, hold: mustNotAsk, settle() {}, read: mustNotAsk },
    ledger: { open: mustNotAsk },
    plans: () => createPlanBook({ config: configSchema.parse({ plans: { p: { rpm: 'off' } } }), stored: [] }),
    bootId: 'b',
    clock: fakeClock(),
    observe() {},
    troubles: [{ trouble: null }, trouble],
  });
  const arrival = { requestId: 'r', form: 'openai' } as const;
  const refused = await admission.admit(alone, 'one', arrival);
  assert.ok(refused.kind === 'quota-unavailable');
  assert.match(refused.message, /^This server cannot record anything: the disk is full\./);
  assert.equal((await admission.admit(alone, 'free', arrival)).kind, 'admitted');
});

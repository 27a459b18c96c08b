import assert from 'node:assert/strict';
import type { Counters } from '../../src/books/metering/counters.ts';
import { creditLimit } from '../../src/books/metering/plan-book.ts';
import { until } from '../until.ts';
import { booked } from './counter-books.ts';
import { type Asker, mustHold, mustRefuse, newAsker, spendAll, spenders } from './counter-requests.ts';
import { over, overTime } from './over-counters.ts';
import { reservationRow } from './rows.ts';

const usd = 1_000_000_000;

function prepaid(dollars: number) {
  const asker = newAsker();
  const limit = creditLimit(asker.account, dollars * usd);
  return { who: { ...asker, scopes: [...asker.scopes, limit.scope] }, limits: [limit], furtherScopes: limit.scope };
}

async function used(counters: Counters, { account }: Asker): Promise<number> {
  const [state] = await counters.read(account, [creditLimit(account, 0)]);
  assert.ok(state);
  assert.equal(state.leavesAtMs, null);
  return state.used;
}

over(`the last cents of a credit are spent once by ${spenders} callers at a time, over all processes`, async (t) => {
  const { who, limits } = prepaid(10);
  const other = (await t.another?.()) ?? t.counters;
  const admitted = await spendAll([t.counters, other], who, limits, usd / 10);
  assert.ok(admitted >= 100 && admitted < 100 + spenders, `${admitted} passed`);
  const full = await mustRefuse(other, who, 0, limits);
  assert.deepEqual([full.limit, full.freeAtMs], ['credit', null]);
  // Topped up.
  const more = [creditLimit(who.account, admitted * usd)];
  const held = await mustHold(other, who, 0, more);
  other.settle(held, { costMilli: 0, tokens: 0, usdNano: usd });
  await until('it is counted on', async () => (await used(t.counters, who)) === (admitted * usd) / 10 + usd);
});

overTime('what credit paid never comes back, however much time passes', async (t) => {
  const { who, limits } = prepaid(3);
  for (let month = 0; month < 3; month += 1) {
    const held = await mustHold(t.counters, who, 0, limits);
    t.counters.settle(held, { costMilli: 0, tokens: 0, usdNano: usd });
    await until('it is settled', async () => (await used(t.counters, who)) === (month + 1) * usd);
    t.advance(40 * 24 * 3_600_000);
  }
  await mustRefuse(t.counters, who, 0, limits);
});

over('credit is counted on from the books, with what runs there, and gets back what is given back', async (t) => {
  const { who, limits, furtherScopes } = prepaid(10);
  const { account, tenant, tier } = who;
  const atMs = t.nowMs() - 400 * 24 * 3_600_000;
  t.books.settle('long ago', { ...booked(account, atMs, { costMilli: 0, usd: 3, tenant }), furtherScopes });
  const row = reservationRow({ atMs, account, tenant, tier, costMilli: 0, furtherScopes, quotaMs: t.nowMs() - 1_000 });
  t.books.open(row);
  assert.equal(await used(t.counters, who), 3 * usd);
  const held = await mustHold(t.counters, who, 0, limits);
  t.counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 6 * usd });
  await until('it is counted', async () => (await used(t.counters, who)) === 9 * usd);
  if (t.another !== null) {
    t.counters.settle({ ...held, requestId: row.requestId }, { costMilli: 0, tokens: 0, usdNano: usd });
    await until('the one of the books', async () => (await used(t.counters, who)) === 10 * usd);
    await mustRefuse(t.counters, who, 0, limits);
  }
  const before = await used(t.counters, who);
  const { scopes, quotaMs } = held;
  const settledMs = quotaMs;
  t.counters.giveBack({ account, scopes, costMilli: 0, tokens: 0, usdNano: 8 * usd, quotaMs, settledMs });
  await until('it is given back', async () => (await used(t.counters, who)) === before - 8 * usd);
  const later = await mustHold(t.counters, who, 0, limits);
  t.counters.settle(later, { costMilli: 0, tokens: 0, usdNano: usd });
  await until('and counted on', async () => (await used(t.counters, who)) === before - 7 * usd);
});

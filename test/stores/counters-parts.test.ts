import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Counters, Limit } from '../../src/books/metering/counters.ts';
import { partScopesMax } from '../../src/books/metering/loaded-scopes.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { partLimits, type RequestParts } from '../../src/books/metering/part-budgets.ts';
import { fakeClock } from '../fake-clock.ts';
import { until } from '../until.ts';
import { booked, fakeBooks } from './counter-books.ts';
import { type Asker, hold, mustHold, mustRefuse, newAsker, spendAll, spenders } from './counter-requests.ts';
import { over } from './over-counters.ts';
import { reservationRow } from './rows.ts';

const usd = 1_000_000_000;

/** A request of this user, whose account gives each user so much in 30 days. */
function userOf(who: Asker, user: string, dollars: number): { who: Asker; limits: readonly Limit[] } {
  const parts: RequestParts = { user, tag: null, models: ['m'] };
  const limits = partLimits(who.account, [{ by: 'user', usd: dollars, window: 'month' }], parts);
  return { who: { ...who, scopes: [...who.scopes, ...limits.map(({ scope }) => scope)] }, limits };
}

async function used(counters: Counters, { account }: Asker, limits: readonly Limit[]): Promise<number> {
  const [state] = await counters.read(account, limits);
  assert.ok(state);
  return state.used;
}

over(`the last cents of a user are spent once by ${spenders} callers at a time, over all processes`, async (t) => {
  const { who, limits } = userOf(newAsker(), 'alice', 10);
  const other = (await t.another?.()) ?? t.counters;
  const admitted = await spendAll([t.counters, other], who, limits, usd / 10);
  assert.ok(admitted >= 100 && admitted < 100 + spenders, `${admitted} passed`);
  await mustRefuse(other, who, 0, limits);
  const bob = userOf(who, 'bob', 10);
  await mustHold(
    t.counters,
    { ...bob.who, scopes: [...newAsker({ account: who.account }).scopes, bob.limits[0]!.scope] },
    0,
    bob.limits,
  );
});

over('a user is counted on from the books, with what runs there, and gets back what is given back', async (t) => {
  const asker = newAsker();
  const { who, limits } = userOf(asker, 'alice', 10);
  const [limit] = limits;
  const furtherScopes = limit!.scope;
  const atMs = t.nowMs() - 1_000;
  const { account, tenant, tier } = asker;
  t.books.settle('before', { ...booked(account, atMs, { costMilli: 0, usd: 3, tenant }), furtherScopes });
  const row = reservationRow({ atMs, account, tenant, tier, costMilli: 0, furtherScopes, quotaMs: atMs });
  t.books.open(row);
  assert.equal(await used(t.counters, who, limits), 3 * usd);
  const held = await mustHold(t.counters, who, 0, limits);
  t.counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 6 * usd });
  await until('it is counted', async () => (await used(t.counters, who, limits)) === 9 * usd);
  if (t.another !== null) {
    // Counters that lost their memory: the one in the books ends here.
    const running = { ...held, requestId: row.requestId };
    t.counters.settle(running, { costMilli: 0, tokens: 0, usdNano: usd });
    await until('the one of the books', async () => (await used(t.counters, who, limits)) === 10 * usd);
    await mustRefuse(t.counters, who, 0, limits);
  }
  const { scopes, quotaMs } = held;
  t.counters.giveBack({ account, scopes, costMilli: 0, tokens: 0, usdNano: 6 * usd, quotaMs, settledMs: quotaMs });
  await until('it is given back', async () => (await used(t.counters, who, limits)) < 5 * usd);
  await mustHold(t.counters, who, 0, limits);
});

test('users of one account leave room to other accounts, and rest for two minutes before others take their place', async () => {
  const clock = fakeClock();
  const counters = new MemoryCounters({ clock, books: fakeBooks('at once') });
  const asker = newAsker();
  const ask = async (user: string, whose = asker) => {
    const { who, limits } = userOf(whose, user, 10);
    const held = await hold(counters, who, 0, limits);
    if (held.kind === 'held') counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 1 });
    return held.kind;
  };
  for (let at = 0; at < partScopesMax; at += 1) assert.equal(await ask(`user ${at}`), 'held');
  assert.equal(await ask('one too many'), 'unavailable');
  assert.deepEqual([await ask('user 1'), await ask('another', newAsker())], ['held', 'held']);
  clock.advance(121_000);
  assert.equal(await ask('one too many'), 'held');
});

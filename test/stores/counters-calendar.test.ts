import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Counters, Limit } from '../../src/books/metering/counters.ts';
import { calendarLimit } from '../../src/books/metering/plan-book.ts';
import { CalendarPeriod, type PeriodName, periodNames } from '../../src/books/metering/window.ts';
import { until } from '../until.ts';
import { booked } from './counter-books.ts';
import { type Asker, limitOf, mustHold, mustRefuse, newAsker, usedOf } from './counter-requests.ts';
import { over, overTime } from './over-counters.ts';

const hourMs = 3_600_000;
const usd = 1_000_000_000;

function budgetOf(who: Asker, name: PeriodName, allowed = Number.POSITIVE_INFINITY, zone = 'Europe/Berlin'): Limit {
  return calendarLimit({ period: new CalendarPeriod(name, zone), usdNano: allowed }, who.scopes[0]!);
}

async function spend(counters: Counters, who: Asker, usdNano: number, limits: readonly Limit[] = []) {
  const held = await mustHold(counters, who, 0, limits);
  counters.settle(held, { costMilli: 0, tokens: 0, usdNano });
  // Settled before the test lets time pass.
  await counters.read(who.account, [limitOf(who, 'usd', 'month', usd)]);
  return held;
}

async function used(counters: Counters, who: Asker, limit: Limit): Promise<number> {
  const [state] = await counters.read(who.account, [limit]);
  return state!.used;
}

overTime('a budget of a period is free again as a whole when the next one begins, and not before', async (t) => {
  for (const name of periodNames) {
    const who = newAsker();
    const limit = budgetOf(who, name, 3 * usd);
    // From its beginning on, whatever the time is now.
    t.advance(limit.period!.endMs(t.nowMs()) - t.nowMs());
    await spend(t.counters, who, 2 * usd, [limit]);
    t.advance(hourMs * 5);
    await spend(t.counters, who, 2 * usd, [limit]);
    const endMs = limit.period!.endMs(t.nowMs());
    const full = await mustRefuse(t.counters, who, 0, [limit]);
    assert.deepEqual([full.used, full.freeAtMs, full.limit], [4 * usd, endMs, `budget:${name}@Europe/Berlin`]);
    t.advance(endMs - t.nowMs() - 1);
    assert.equal((await mustRefuse(t.counters, who, 0, [limit])).freeAtMs, endMs, name);
    assert.equal(await used(t.counters, who, limit), 4 * usd);
    t.advance(1);
    assert.equal(await used(t.counters, who, limit), 0, name);
    await spend(t.counters, who, usd, [limit]);
    assert.equal(await used(t.counters, who, limit), usd);
  }
});

overTime('a month of 31 days counts its first day to the end, which 30 days do not', async (t) => {
  const who = newAsker();
  const limit = budgetOf(who, 'month');
  const lengthMs = () => limit.period!.endMs(t.nowMs()) - limit.period!.startMs(t.nowMs());
  do t.advance(limit.period!.endMs(t.nowMs()) - t.nowMs());
  while (lengthMs() < 31 * 24 * hourMs);
  await spend(t.counters, who, 5 * usd, [limit]);
  // Buckets leave the rolling month hour by hour while others come.
  for (let day = 1; day <= 30; day += 1) {
    t.advance(24 * hourMs);
    await spend(t.counters, who, usd, day % 2 === 0 ? [limit] : []);
  }
  t.advance(limit.period!.endMs(t.nowMs()) - t.nowMs() - 1);
  assert.equal(await used(t.counters, who, limit), 35 * usd);
  assert.equal(await usedOf(t.counters, who, 'usd', 'month'), 30 * usd);
  const later = (await t.another?.()) ?? t.counters;
  assert.equal(await used(later, who, limit), 35 * usd);
});

over('what the books know counts from the beginning of the period on', async ({ counters, books, nowMs }) => {
  const who = newAsker();
  const limit = budgetOf(who, 'month', 10 * usd, 'Asia/Tokyo');
  const startMs = limit.period!.startMs(nowMs());
  const spent = (usdSpent: number) => ({ costMilli: 0, tokens: 0, usd: usdSpent, tenant: who.tenant, tier: null });
  books.settle('before', booked(who.account, startMs - 1, spent(100)));
  books.settle('first', booked(who.account, startMs, spent(3)));
  books.settle('now', booked(who.account, Math.max(startMs, nowMs() - 1_000), spent(4)));
  assert.equal(await used(counters, who, limit), 7 * usd);
  await spend(counters, who, 3 * usd, [limit]);
  const full = await mustRefuse(counters, who, 0, [limit]);
  assert.deepEqual([full.used, full.freeAtMs], [10 * usd, limit.period!.endMs(nowMs())]);
});

over('it is exact over processes and many requests at once, beside rolling limits and other zones', async (t) => {
  const who = newAsker();
  const day = budgetOf(who, 'day', 1_000 * usd);
  const all = [
    day,
    budgetOf(who, 'week'),
    budgetOf(who, 'month', undefined, 'UTC'),
    limitOf(who, 'usd', 'month', 1e15),
  ];
  const other = (await t.another?.()) ?? t.counters;
  await spend(t.counters, who, usd, all);
  await Promise.all(
    Array.from({ length: 60 }, (_, at) => spend(at % 2 === 0 ? t.counters : other, who, usd, at % 3 === 0 ? all : [])),
  );
  // What another process has settled is on its way for a moment.
  const sees = (counters: Counters, limit: Limit, amount: number) =>
    until(`${amount} of ${limit.id}`, async () => (await used(counters, who, limit)) === amount * usd);
  for (const limit of all) for (const counters of [t.counters, other]) await sees(counters, limit, 61);
  const held = await spend(t.counters, who, 9 * usd, all);
  await sees(other, day, 70);
  const { account, scopes, quotaMs } = held;
  t.counters.giveBack({ account, scopes, costMilli: 0, tokens: 0, usdNano: 9 * usd, quotaMs, settledMs: quotaMs });
  await sees(t.counters, day, 61);
  await spend(other, who, usd, all);
  for (const limit of all) await sees(other, limit, 62);
});

for (const [zone, at, name, from, to] of [
  ['UTC', '2026-11-23T20:00Z', 'week', '2026-11-23T00:00Z', '2026-11-30T00:00Z'],
  // A clock that is set back, and one that is set on.
  ['Europe/Berlin', '2026-10-25T12:00Z', 'day', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
  ['Europe/Berlin', '2026-03-29T12:00Z', 'month', '2026-02-28T23:00Z', '2026-03-31T22:00Z'],
  // Midnight is skipped there.
  ['Africa/Cairo', '2026-04-24T12:00Z', 'day', '2026-04-23T22:00Z', '2026-04-24T21:00Z'],
  ['Pacific/Kiritimati', '2026-11-23T12:00Z', 'month', '2026-10-31T10:00Z', '2026-11-30T10:00Z'],
  // Half an hour off: the first full hour in UTC.
  ['Asia/Kolkata', '2026-11-23T18:45Z', 'day', '2026-11-22T19:00Z', '2026-11-23T19:00Z'],
  ['Asia/Kolkata', '2026-11-23T19:00Z', 'day', '2026-11-23T19:00Z', '2026-11-24T19:00Z'],
] as const) {
  test(`the ${name} of ${zone} at ${at} is from ${from} to ${to}`, () => {
    const period = new CalendarPeriod(name, zone);
    const nowMs = Date.parse(at);
    assert.deepEqual([period.startMs(nowMs), period.endMs(nowMs)], [Date.parse(from), Date.parse(to)]);
  });
}

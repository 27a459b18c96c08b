import assert from 'node:assert/strict';
import { windowNames } from '../../src/books/metering/window.ts';
import { FailureError } from '../../src/kernel/failure.ts';
import { booked, type FakeBooks } from './counter-books.ts';
import { hold, limitOf, mustHold, mustRefuse, newAsker, usedOf } from './counter-requests.ts';
import { over } from './over-counters.ts';
import { reservationRow } from './rows.ts';

const unit = 1_000;

over('what the books know of the past counts from the first request on', async ({ counters, books, nowMs }) => {
  const who = newAsker({ tier: 'premium' });
  const minuteMs = 60_000;
  const hourMs = 60 * minuteMs;
  const spent = { costMilli: unit, tokens: 10, usd: 0.5, tenant: who.tenant, tier: who.tier };
  books.settle('past_1', booked(who.account, nowMs() - 2 * minuteMs, spent));
  books.settle('past_2', booked(who.account, nowMs() - 6 * hourMs, spent));
  books.settle('past_3', booked(who.account, nowMs() - 8 * 24 * hourMs, spent));
  books.settle('past_4', booked(who.account, nowMs() - 31 * 24 * hourMs, spent));
  books.settle('other', booked(newAsker().account, nowMs() - minuteMs, { costMilli: unit }));
  for (const scope of who.scopes)
    for (const [i, name] of windowNames.entries()) {
      assert.equal(await usedOf(counters, who, 'units', name, scope), (i + 1) * unit, `${scope} ${name}`);
      assert.equal(await usedOf(counters, who, 'tokens', name, scope), (i + 1) * 10, `${scope} ${name}`);
      assert.equal(await usedOf(counters, who, 'usd', name, scope), (i + 1) * 500_000_000, `${scope} ${name}`);
    }
  const limits = [limitOf(who, 'units', '5h', 2 * unit)];
  await mustHold(counters, who, unit, limits);
  await mustRefuse(counters, who, unit, limits);
});

/** Puts into the books that `by` called, `agoMs` before now. */
function called(books: FakeBooks, nowMs: number, by: ReturnType<typeof newAsker>, agoMs: number, endpoint = 'chat') {
  const atMs = nowMs - agoMs;
  const { account, tenant, tier } = by;
  books.open(reservationRow({ atMs, account, tenant, tier, endpoint, costMilli: 0, bootId: 'boot_before' }));
}

over('calls of the last minute are known to counters that begin', async ({ counters, books, nowMs }) => {
  const who = newAsker({ tier: 'premium' });
  const colleague = newAsker({ account: who.account, key: 'other' });
  called(books, nowMs(), who, 5_000);
  called(books, nowMs(), who, 20_000);
  called(books, nowMs(), who, 90_000);
  called(books, nowMs(), colleague, 10_000);
  const seen = await Promise.all(who.scopes.map((scope) => usedOf(counters, who, 'calls', 'minute', scope)));
  assert.deepEqual(seen, [3 * unit, 2 * unit, 2 * unit, 2 * unit]);
});

over('a vector call of the last minute weighs 0.05, and a whole call of the tier that embedded its text', async (t) => {
  const { counters, books, nowMs } = t;
  const who = newAsker({ tier: 'premium' });
  called(books, nowMs(), { ...who, tier: null }, 5_000, 'vectors');
  called(books, nowMs(), { ...who, tier: null }, 6_000, 'vectors');
  called(books, nowMs(), who, 7_000, 'vectors');
  called(books, nowMs(), who, 8_000);
  const seen = await Promise.all(who.scopes.map((scope) => usedOf(counters, who, 'calls', 'minute', scope)));
  assert.deepEqual(seen, [1_150, 1_150, 2_000, 2_000]);
});

over('nobody is let in while the books cannot be read, and everybody once they can', async ({ counters, books }) => {
  const who = newAsker();
  const limits = [limitOf(who, 'units', '5h', unit)];
  books.broken = true;
  const refused = await hold(counters, who, unit, limits);
  assert.equal(refused.kind, 'unavailable');
  assert.ok(refused.kind === 'unavailable' && !refused.reason.includes('fake ledger'), 'its words are for the caller');
  await assert.rejects(
    counters.read(who.account, limits),
    (error) => error instanceof FailureError && error.failure.kind === 'quota-unavailable',
  );
  books.broken = false;
  await mustHold(counters, who, unit, limits);
  await mustRefuse(counters, who, unit, limits);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steppedClock } from '../../../test/simulation/stepped-clock.ts';
import { booked, type FakeBooks, fakeBooks } from '../../../test/stores/counter-books.ts';
import {
  type Asker,
  enter,
  hold,
  limitOf,
  mustHold,
  mustRefuse,
  newAsker,
  newRequestId,
  usedOf,
} from '../../../test/stores/counter-requests.ts';
import { scopeRetentionMs } from './loaded-scopes.ts';
import { holdsMax, MemoryCounters } from './memory-counters.ts';
import { calendarLimit } from './plan-book.ts';
import { CalendarPeriod } from './window.ts';

const unit = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function start(
  of: { scopesMax?: number; share?: () => number; answers?: 'at once' | 'later'; books?: FakeBooks } = {},
) {
  const clock = steppedClock();
  const books = of.books ?? fakeBooks(of.answers ?? 'at once');
  const begin = () =>
    new MemoryCounters({
      clock,
      books,
      ...(of.scopesMax === undefined ? {} : { scopesMax: of.scopesMax }),
      ...(of.share === undefined ? {} : { share: of.share }),
    });
  return { clock, books, counters: begin(), begin };
}

const callBy = (who: Asker, atMs: number) => ({
  requestId: newRequestId(),
  bootId: 'boot',
  atMs,
  account: who.account,
  keyId: 'key',
  tenant: who.tenant,
  endpoint: 'chat',
  alias: 'smart',
  tier: who.tier,
  quotaMs: atMs,
  costMilli: 0,
  furtherScopes: null,
  inputTokensEstimate: 0,
});

test('once the past is known, answers come at once', async () => {
  const { counters } = start({ answers: 'later' });
  const who = newAsker();
  const request = () => ({
    ...who,
    requestId: newRequestId(),
    costMilli: unit,
    limits: [limitOf(who, 'units', '5h', 9_000)],
  });
  const first = counters.hold(request());
  assert.ok(first instanceof Promise);
  assert.equal((await first).kind, 'held');
  const second = counters.hold(request());
  assert.ok(!(second instanceof Promise) && second.kind === 'held');
});

test('callers who come at once share one look into the books, and its end', async () => {
  const { counters, books } = start({ answers: 'later' });
  const who = newAsker();
  books.settle(
    'past',
    booked(who.account, start().clock.wallMs() - minuteMs, { costMilli: 5 * unit, tenant: who.tenant }),
  );
  const limits = [limitOf(who, 'units', '5h', 8 * unit)];
  const answers = await Promise.all(Array.from({ length: 20 }, () => hold(counters, who, unit, limits)));
  assert.equal(books.reads, 1);
  assert.equal(answers.filter(({ kind }) => kind === 'held').length, 3);
});

test('F28 the instant that people read is right by their wall after somebody has set it', async () => {
  const { counters, clock } = start();
  const who = newAsker();
  const limits = [limitOf(who, 'units', '5h', unit)];
  await mustHold(counters, who, unit, limits);
  clock.step(-hourMs);
  const { freeAtMs } = await mustRefuse(counters, who, unit, limits);
  clock.advance(freeAtMs! - clock.wallMs() - 1);
  await mustRefuse(counters, who, unit, limits);
  clock.advance(1);
  const [state] = (await mustHold(counters, who, unit, limits)).states;
  assert.ok(
    state!.leavesAtMs! > clock.wallMs() + 5 * hourMs && state!.leavesAtMs! <= clock.wallMs() + 5 * hourMs + minuteMs,
  );
});

test("F28 quota time goes on from the books' newest bucket, so that reading another account frees nothing", async () => {
  const clock = steppedClock();
  const books = fakeBooks('at once');
  const [here, other] = [newAsker(), newAsker()];
  // The clock was an hour ahead when that was used, and is right again.
  const aheadMs = clock.wallMs() + hourMs;
  books.settle(newRequestId(), booked(other.account, aheadMs, { costMilli: unit, tenant: other.tenant }));
  const counters = new MemoryCounters({ clock, books, startMs: aheadMs });
  await mustHold(counters, here, unit);
  assert.equal(await usedOf(counters, other, 'units', '5h'), unit);
  clock.advance(5 * hourMs - minuteMs);
  assert.equal(await usedOf(counters, here, 'units', '5h'), unit);
  clock.advance(2 * minuteMs);
  assert.equal(await usedOf(counters, here, 'units', '5h'), 0);
});

test('F28 calls of the last minute are found though the newest bucket is ahead of the wall', async () => {
  const { begin, books, clock } = start();
  const who = newAsker();
  books.settle('ahead', booked(who.account, clock.wallMs() + hourMs, { costMilli: unit }));
  books.open(callBy(who, clock.wallMs() - 5_000));
  books.open(callBy(who, clock.wallMs() + 5_000));
  assert.equal(await usedOf(begin(), who, 'calls', 'minute'), 2 * unit);
});

test('tokens of the minute before a start hold back as long as they possibly must', async () => {
  const { begin, books, clock } = start();
  const who = newAsker();
  clock.advance(minuteMs - (clock.wallMs() % minuteMs) - 1_000);
  books.settle('before', booked(who.account, clock.wallMs() - 30_000, { costMilli: unit, tokens: 10 }));
  clock.advance(11_000);
  const counters = begin();
  const limits = [limitOf(who, 'tokens', 'minute', 10)];
  await mustRefuse(counters, who, unit, limits);
  clock.advance(50_000 - 1);
  await mustRefuse(counters, who, unit, limits);
  clock.advance(1_001);
  await mustHold(counters, who, unit, limits);
});

test('one of several that share enforces its part: limits rounded down, what was used rounded up', async () => {
  const { books, clock, begin } = start({ share: () => 3 });
  const who = newAsker();
  books.settle('past', booked(who.account, clock.wallMs() - minuteMs, { costMilli: 4 * unit }));
  const counters = begin();
  const limits = [limitOf(who, 'units', '5h', 10 * unit)];
  assert.equal(await usedOf(counters, who, 'units', '5h'), 1_334);
  await mustHold(counters, who, unit, limits);
  const full = await mustRefuse(counters, who, unit, limits);
  assert.deepEqual([full.used, full.allowed], [2_334, 3_333]);
  const places = [{ scope: who.scopes[0]!, allowed: 5 }];
  assert.equal((await enter(counters, who, { places })).kind, 'entered');
  assert.equal((await enter(counters, who, { places })).kind, 'full');
});

test('scopes in memory are bounded: an idle one makes room, and is read again when it comes back', async () => {
  const { counters, books, clock } = start({ scopesMax: 10 });
  const first = newAsker();
  const limits = [limitOf(first, 'units', 'month', 2 * unit)];
  const held = await mustHold(counters, first, unit, limits);
  counters.settle(held, { costMilli: unit, tokens: 0, usdNano: 0 });
  books.settle(held.requestId, booked(first.account, held.quotaMs, { costMilli: unit, tenant: first.tenant }));
  for (let i = 0; i < 20; i++) {
    clock.advance(scopeRetentionMs);
    const other = newAsker();
    counters.settle(await mustHold(counters, other, unit), { costMilli: unit, tokens: 0, usdNano: 0 });
    assert.ok(counters.gauges().scopes <= 10);
  }
  const reads = books.reads;
  await mustHold(counters, first, unit, limits);
  await mustRefuse(counters, first, unit, limits);
  assert.equal(books.reads, reads + 1);
});

test('what runs, is held or was used just now makes no room: who comes then is told so', async () => {
  const { counters, clock } = start({ scopesMax: 6 });
  const [runs, holds, recent] = [newAsker(), newAsker(), newAsker()];
  const entered = await enter(counters, runs, { places: runs.scopes.map((scope) => ({ scope, allowed: 1 })) });
  const held = await mustHold(counters, holds, unit);
  clock.advance(scopeRetentionMs);
  counters.settle(await mustHold(counters, recent, unit), { costMilli: unit, tokens: 0, usdNano: 0 });
  clock.advance(scopeRetentionMs - 1);
  const late = newAsker();
  assert.deepEqual(await hold(counters, late, unit), {
    kind: 'unavailable',
    reason: 'too many requests or keys are active at once',
  });
  assert.equal(await usedOf(counters, recent, 'units', '5h'), unit);
  clock.advance(scopeRetentionMs - 1);
  assert.equal((await hold(counters, late, unit)).kind, 'unavailable');

  assert.ok(entered.kind === 'entered');
  entered.leave();
  await mustHold(counters, late, unit);
  assert.equal(await usedOf(counters, holds, 'units', '5h'), unit, 'still held');
  counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
  assert.equal(await usedOf(counters, holds, 'units', '5h'), 0);
});

test('holds are bounded', async () => {
  const { counters } = start();
  const who = newAsker();
  const first = await mustHold(counters, who, unit);
  for (let i = 1; i < holdsMax; i++)
    counters.hold({ requestId: `r${i}`, account: who.account, scopes: who.scopes, costMilli: 1, limits: [] });
  assert.equal((await hold(counters, who, unit)).kind, 'unavailable');
  counters.settle(first, { costMilli: 0, tokens: 0, usdNano: 0 });
  await mustHold(counters, who, unit);
  assert.deepEqual(counters.gauges(), { scopes: 2, holds: holdsMax });
});

test('F28 a clock set forward past the end of a month and back leaves the calendar of budgets where it is', async () => {
  const { clock, counters } = start();
  const who = newAsker();
  const limit = calendarLimit({ period: new CalendarPeriod('month', 'UTC'), usdNano: 3 }, who.scopes[0]!);
  const endMs = () => limit.period!.endMs(clock.wallMs());
  const spend = async (usdNano: number) =>
    counters.settle(await mustHold(counters, who, 0, [limit]), { costMilli: 0, tokens: 0, usdNano });
  const used = async () => (await counters.read(who.account, [limit]))[0]!;
  clock.advance(endMs() - clock.wallMs() - 2 * hourMs);
  await spend(2);
  const thisEndMs = endMs();
  clock.step(24 * hourMs);
  assert.equal((await used()).used, 0);
  clock.step(-24 * hourMs);
  assert.equal((await used()).used, 2, 'the month goes on');
  await spend(1);
  assert.equal((await mustRefuse(counters, who, 0, [limit])).freeAtMs, thisEndMs);
  assert.equal((await used()).leavesAtMs, thisEndMs);
  clock.advance(2 * hourMs);
  const nextEndMs = endMs();
  assert.equal((await used()).used, 1, 'counted behind the step, it counts in the next month too');
  await spend(2);
  assert.equal((await mustRefuse(counters, who, 0, [limit])).freeAtMs, nextEndMs);
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fakeClock } from '../../../test/fake-clock.ts';
import { everything, reservationRow, usageEvent } from '../../../test/stores/rows.ts';
import type { Entry, Hold, Limit } from '../../books/metering/counters.ts';
import { CalendarPeriod } from '../../books/metering/window.ts';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createLink, type Link } from '../../kernel/threads/link.ts';
import { createLog } from '../../observe/log.ts';
import { openDataFolder } from '../../stores/sqlite/data-folder.ts';
import type { BooksOffers } from '../books-offers.ts';
import { Hearing } from '../wait-for-reports.ts';
import type { WorkerOffers } from '../worker-seat.ts';
import { openPrimaryBooks } from './primary-books.ts';
import { askBooks } from './remote-books.ts';

/** The books of a server, and workers that ask them over links as between processes. */
async function openBooks(t: TestContext, time: Clock | null = null) {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-books-'));
  const { log } = await createLog({ level: 'silent', form: 'json' });
  const clock = fakeClock(Date.now());
  const config = { telemetry: { sinks: ['file'] } } as never;
  const folder = openDataFolder(dir);
  const books = await openPrimaryBooks({ config, folder, bootId: 'boot-1', clock: time ?? clock, log });
  t.after(async () => {
    await books.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const links: Link<WorkerOffers>[] = [];
  const hearing = new Hearing(() => links);
  /** Messages to the books while they stand still; null: they do not. */
  let waiting: (() => void)[] | null = null;
  const standStill = () => {
    waiting = [];
  };
  const goOn = () => {
    const all = waiting ?? [];
    waiting = null;
    for (const take of all) take();
  };

  const standing = { ...books.standing(), queued: 3, dropped: 2 };

  function worker(number: number) {
    const desk = books.desk(() => hearing.all());
    const toWorker = createLink<WorkerOffers>((message) => link.take(structuredClone(message)), desk);
    const toBooks = (message: object) => {
      const copy = structuredClone(message);
      if (waiting === null) toWorker.take(copy);
      else waiting.push(() => toWorker.take(copy));
    };
    const link: Link<BooksOffers> = createLink<BooksOffers>(toBooks, { delivered() {} });
    links.push(toWorker);
    const seat = { books: link, given: { number }, standing: { books: standing } } as never;
    const bodiesOf = (requestId: string) => `{"of":"${requestId}"}`;
    return { ...askBooks(seat, { bodiesOf }), link, lost: () => desk.lost() };
  }
  return { standing, standStill, goOn, file: folder.ledgerDb, clock, one: worker(1), two: worker(2) };
}

type Worker = Awaited<ReturnType<typeof openBooks>>['one'];

const scope = 'a:dev';
const units = (allowed: number): Limit[] => [{ id: '5h', scope, measure: 'units', span: '5h', allowed, rule: 'exact' }];

function holdOf(limits: readonly Limit[], over: Partial<Hold> = {}): Hold {
  const row = reservationRow({ costMilli: over.costMilli ?? 1_000 });
  return { requestId: row.requestId, account: 'dev', scopes: [scope], costMilli: row.costMilli, limits, row, ...over };
}

function entryOf(over: Partial<Entry> = {}): Entry {
  return { requestId: '', account: 'dev', callMilli: 1_000, limits: [], places: [], ...over };
}

const usedOf = async ({ counters }: Worker, limits: readonly Limit[]) =>
  (await counters.read('dev', limits)).map(({ used }) => used);
const openOf = async ({ ledger }: Worker) => (await ledger.openReservations('dev')).length;
const eventsOf = async ({ ledger }: Worker) => {
  await ledger.flush();
  return (await ledger.list(everything)).events;
};

test('units are one count for all workers, and what a request gives back is there for the next one at another', async (t) => {
  const { one, two } = await openBooks(t);
  const limits = units(2_000);
  const [first, second] = [holdOf(limits), holdOf(limits)];
  const held = await one.counters.hold(first);
  assert(held.kind === 'held');
  assert.deepEqual(
    [held.requestId, held.account, held.scopes, held.costMilli],
    [first.requestId, 'dev', [scope], 1_000],
  );
  assert.equal(held.states[0]?.used, 1_000);
  assert.ok(held.states[0]!.leavesAtMs! > held.quotaMs);
  await one.ledger.open(first.row!);
  const other = await two.counters.hold(second);
  assert(other.kind === 'held');
  await two.ledger.open(second.row!);
  assert.equal(other.states[0]?.used, 2_000);
  assert.equal(await openOf(one), 2);
  assert.deepEqual([one.ledger.gauges().open, two.ledger.gauges().open], [1, 1]);

  // The books hear of the end only after they were asked.
  const asked = two.counters.hold(holdOf(limits));
  one.counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
  one.ledger.close(usageEvent(first.row!, { costMilli: 0 }));
  one.ledger.close(usageEvent(first.row!, { costMilli: 500 }));
  assert.equal((await asked).kind, 'held');
  assert.equal(one.ledger.gauges().open, 0);
  assert.deepEqual(
    (await eventsOf(two)).map(({ requestId, costMilli }) => [requestId, costMilli]),
    [[first.requestId, 0]],
    'closed once',
  );
  const full = await one.counters.hold(holdOf(limits));
  assert(full.kind === 'full');
  assert.deepEqual([full.limit, full.used, full.allowed], ['5h', 2_000, 2_000]);
});

test('an account that was refused is refused at once for a moment, without a second look', async (t) => {
  const { one, two } = await openBooks(t);
  const limits = units(1_000);
  const held = await one.counters.hold(holdOf(limits));
  assert(held.kind === 'held');
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const asked = () => two.counters.hold(holdOf(limits));
  assert.equal((await asked()).kind, 'full');
  nowMs += 49;
  const early = asked();
  one.counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
  assert.equal((await early).kind, 'full', 'a second look would have found room');
  const last = await asked();
  assert(last.kind === 'held');
  nowMs += 1;
  const late = one.counters.hold(holdOf(limits));
  two.counters.settle(last, { costMilli: 0, tokens: 0, usdNano: 0 });
  assert.equal((await late).kind, 'held');
});

test('places and calls a minute are one count for all workers', async (t) => {
  const { clock, one, two } = await openBooks(t);
  const minute: Limit[] = [{ id: 'minute', scope, measure: 'calls', span: 'minute', allowed: 3_000, rule: 'exact' }];
  const places = [{ id: 'concurrency', scope, allowed: 2 }];
  const entry = entryOf({ limits: minute, places });
  const [first, second] = [await one.counters.enter(entry), await two.counters.enter(entry)];
  assert(first.kind === 'entered' && second.kind === 'entered');
  assert.deepEqual(
    [first.states, second.states].map(([state]) => state?.used),
    [1_000, 2_000],
  );
  assert.deepEqual(await two.counters.running('dev', [scope]), [2]);
  const full = await one.counters.enter(entry);
  assert.deepEqual([full.kind, full.kind === 'full' && full.limit], ['full', 'concurrency']);
  first.leave();
  first.leave();
  const third = await two.counters.enter(entry);
  assert(third.kind === 'entered');
  assert.deepEqual(await one.counters.running('dev', [scope]), [2]);
  third.leave();
  const fourth = await one.counters.enter(entry);
  assert.deepEqual([fourth.kind, fourth.kind === 'full' && fourth.limit], ['full', 'minute']);
  clock.advance(62_000);
  const without = await two.counters.enter(entryOf({ limits: minute }));
  assert(without.kind === 'entered');
  without.leave();
  assert.deepEqual(await one.counters.running('dev', [scope]), [1], 'it had no place');
});

test('a worker dies: what it left open is charged as estimated, all else that it held is free', async (t) => {
  const { one, two } = await openBooks(t);
  const limits = units(10_000);
  const places = [{ id: 'concurrency', scope, allowed: 9 }];
  const [open, opening, others] = [1_000, 2_000, 4_000].map((costMilli) => holdOf(limits, { costMilli })) as [
    Hold,
    Hold,
    Hold,
  ];
  const { row: _, ...unbooked } = holdOf(limits, { costMilli: 3_000 });
  for (const worker of [one, two]) assert.equal((await worker.counters.enter(entryOf({ places }))).kind, 'entered');
  assert.equal((await one.counters.hold(open)).kind, 'held');
  await one.ledger.open(open.row!);
  one.ledger.began(open.requestId, 'speech');
  assert.equal((await one.counters.hold(unbooked)).kind, 'held');
  assert.equal((await two.counters.hold(others)).kind, 'held');
  await two.ledger.open(others.row!);
  assert.deepEqual(await usedOf(two, limits), [8_000]);
  // Its row is on its way when the worker dies.
  const dying = one.counters.hold(opening);
  await nextTurn();
  assert.equal(await one.lost(), 2);
  await dying;
  assert.equal(await one.lost(), 0, 'once');
  assert.deepEqual(await usedOf(two, limits), [7_000], 'those that were charged, and the other worker’s');
  assert.deepEqual(await two.counters.running('dev', [scope]), [1]);
  assert.equal(await openOf(two), 1);
  const events = await eventsOf(two);
  assert.deepEqual(
    events
      .map((event) => [event.requestId, event.class, event.costMilli, event.endpoint])
      .sort((a, b) => +a[2]! - +b[2]!),
    [
      [open.requestId, 'crashed', 1_000, 'speech'],
      [opening.requestId, 'crashed', 2_000, 'chat'],
    ],
  );
  // Said before its death, and heard after it.
  assert.equal((await one.counters.hold(holdOf(units(10_000)))).kind, 'held');
  assert.equal((await one.counters.enter(entryOf({ places: [...places] }))).kind, 'entered');
  assert.deepEqual(await usedOf(two, limits), [7_000]);
  assert.deepEqual(await two.counters.running('dev', [scope]), [1]);
  assert.equal(await openOf(two), 1);
});

test('what a worker gave up waiting for is undone and costs nothing, also when it comes late', async (t) => {
  const { one, two } = await openBooks(t);
  const limits = units(10_000);
  const places = [{ id: 'concurrency', scope, allowed: 9 }];
  const booked = holdOf(limits);
  assert.equal((await one.counters.hold(booked)).kind, 'held');
  one.link.notify('abandon', booked.requestId);
  const held = holdOf(limits);
  const { row: _, ...unbooked } = held;
  assert.equal((await one.counters.hold(unbooked)).kind, 'held');
  one.link.notify('abandon', held.requestId);
  const late = holdOf(limits);
  one.link.notify('abandon', late.requestId);
  await one.counters.hold(late);
  one.link.notify('leave', 1);
  await one.counters.enter(entryOf({ places }));
  assert.deepEqual(await usedOf(two, limits), [0]);
  assert.deepEqual(await two.counters.running('dev', [scope]), [0]);
  assert.equal(await openOf(two), 0);
  assert.deepEqual(
    (await eventsOf(two)).map((event) => [
      event.requestId,
      event.status,
      event.costMilli,
      event.inputTokens,
      event.aborted,
    ]),
    [[booked.requestId, 503, 0, 0, false]],
  );
  assert.equal((await one.counters.hold(late)).kind, 'held');
  await one.counters.enter(entryOf({ places }));
  assert.deepEqual(await usedOf(two, limits), [1_000], 'each is undone once');
  assert.deepEqual(await two.counters.running('dev', [scope]), [1]);
});

test('a reservation that the ledger does not take is refused with its words, and holds nothing', async (t) => {
  const { file, one } = await openBooks(t, systemClock);
  const limits = units(10_000);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const hold = holdOf(limits);
  assert.equal((await one.counters.hold(hold)).kind, 'held');
  await assert.rejects(one.ledger.open(hold.row!), (error) => {
    assert(error instanceof FailureError);
    return error.failure.kind === 'quota-unavailable';
  });
  assert.equal(one.ledger.gauges().open, 0);
  assert.deepEqual(await usedOf(one, limits), [0]);
  other.exec('ROLLBACK');
  assert.equal((await one.counters.hold(hold)).kind, 'held');
  await one.ledger.open(hold.row!);
  const { row, ...later } = holdOf(limits);
  assert.equal((await one.counters.hold(later)).kind, 'held');
  await one.ledger.open(row!);
  assert.equal(await openOf(one), 2, 'also one that was held before');
});

test('limits and scopes are sent once, by number, and again after so many others', async (t) => {
  const { one, two } = await openBooks(t);
  const period = new CalendarPeriod('month', 'Europe/Berlin');
  const limits: Limit[] = [
    ...units(Number.POSITIVE_INFINITY),
    { id: 'budget:month', scope, measure: 'usd', span: 'month', allowed: 1e9, rule: 'post-paid', period },
  ];
  for (const worker of [one, two]) {
    const held = await worker.counters.hold(holdOf(limits));
    assert(held.kind === 'held');
    worker.counters.settle(held, { costMilli: 1_000, tokens: 10, usdNano: 7 });
  }
  assert.deepEqual(await usedOf(one, limits), [2_000, 14]);
  await assert.rejects(
    one.link.ask('enter', 9, 'dev', 1_000, [99, null], [1, null]),
    /a worker names list 99, which it has not sent/,
  );
  for (let nth = 0; nth < 5_001; nth++) await one.counters.enter(entryOf({ limits: [] }));
  const held = await one.counters.hold(holdOf(limits));
  assert(held.kind === 'held');
  assert.deepEqual(
    held.states.map(({ used }) => used),
    [3_000, 14],
  );
});

test('tallies and the pace at hosts are one for all workers', async (t) => {
  const { clock, one, two } = await openBooks(t);
  const nowMs = clock.monotonicMs();
  const turns = [];
  for (const worker of [one, two, one]) turns.push(await worker.pace.take('example.org', 1_000, nowMs));
  assert.deepEqual(turns, [0, 1_000, 2_000]);
  assert.equal(await two.pace.take('example.com', 1_000, nowMs), 0);
  assert.equal(await two.pace.take('example.org', 1_000, nowMs + 9_000), 0);

  assert.deepEqual(await one.tally.read(['login']), [{ count: 0, leftMs: 0 }]);
  await one.tally.add(['login'], 5_000);
  clock.advance(2_000);
  assert.deepEqual(await two.tally.add(['login', 'other'], 5_000), [
    { count: 2, leftMs: 3_000 },
    { count: 1, leftMs: 5_000 },
  ]);
  assert.deepEqual(await one.tally.read(['login']), [{ count: 2, leftMs: 3_000 }]);
  clock.advance(3_000);
  assert.deepEqual(await one.tally.read(['login']), [{ count: 0, leftMs: 0 }]);
  assert.deepEqual(await one.tally.add(['login'], 5_000), [{ count: 1, leftMs: 5_000 }]);
});

test('a sink gets its records from one worker at a time, with bodies that came with the event', async (t) => {
  const { one, two } = await openBooks(t);
  const { records } = one.ledger;
  await records.begin(['file']);
  const from = await records.take('file', 60_000);
  assert.equal(typeof from, 'number');
  assert.equal(await two.ledger.records.take('file', 60_000), null);
  assert.equal(await records.take('file', 60_000), from);
  const failure = { why: 'host answers 500', sinceMs: 1_000 };
  await records.failed('file', failure);
  await two.ledger.records.failed('file', null);
  assert.deepEqual(await two.ledger.records.failure('file'), failure, 'only its sender says so');
  await records.failed('file', null);
  assert.equal(await two.ledger.records.failure('file'), null);
  await two.ledger.records.letGo('file');
  assert.equal(await two.ledger.records.take('file', 60_000), null, 'it was not its own');
  await records.letGo('file');
  assert.equal(await two.ledger.records.take('file', 60_000), from);
  await two.lost();
  assert.equal(await records.take('file', 60_000), from, 'a dead one has none');

  const hold = holdOf(units(1_000));
  assert.equal((await one.counters.hold(hold)).kind, 'held');
  await one.ledger.open(hold.row!);
  one.ledger.close(usageEvent(hold.row!));
  await one.ledger.flush();
  const [record] = await records.read(from!, 10);
  assert.deepEqual([record?.event.requestId, record?.bodies], [hold.requestId, `{"of":"${hold.requestId}"}`]);
});

test('workers call what ports name, and tell gauges of the books once', async (t) => {
  const { standing, one, two } = await openBooks(t);
  await assert.rejects(one.link.ask('call', 'ledger', 'close', []), /the books have no ledger\.close/);
  await assert.rejects(one.link.ask('call', 'folder', 'read', []), /the books have no folder\.read/);
  const { ledger, counters, queued, dropped } = standing;
  assert.deepEqual([ledger, counters, one.ledger.trouble(), one.counters.trouble()], [null, null, null, null]);
  assert.deepEqual(one.ledger.gauges(), { queued, dropped, open: 0 });
  assert.deepEqual(two.ledger.gauges(), { queued: 0, dropped: 0, open: 0 });
});

test('while the books stand still requests are refused; once they go on, nothing of that is held or charged', async (t) => {
  const { standStill, goOn, one, two } = await openBooks(t);
  const limits = units(10_000);
  const places = [{ id: 'concurrency', scope, allowed: 9 }];
  const { row, ...held } = holdOf(limits);
  assert.equal((await one.counters.hold(held)).kind, 'held');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  standStill();
  const [entered, reserved, opened] = [
    one.counters.enter(entryOf({ places })),
    one.counters.hold(holdOf(limits)),
    assert.rejects(one.ledger.open(row!), { message: /^quota-unavailable/ }),
  ];
  await nextTurn();
  t.mock.timers.tick(2_000);
  await opened;
  const reasons = [await entered, await reserved].map((answer) => answer.kind === 'unavailable' && answer.reason);
  assert.deepEqual(reasons, Array(2).fill('the process that keeps the books does not answer'));
  t.mock.timers.reset();
  await nextTurn();
  goOn();
  assert.deepEqual(await usedOf(two, limits), [0]);
  assert.deepEqual(await two.counters.running('dev', [scope]), [0]);
  assert.equal(await openOf(two), 0);
  assert.deepEqual(
    (await eventsOf(two)).map((event) => [event.status, event.costMilli]),
    [
      [503, 0],
      [503, 0],
    ],
  );
});

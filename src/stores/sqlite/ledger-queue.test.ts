import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { ReservationRow } from '../../books/metering/ledger.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { FailureError } from '../../kernel/failure.ts';
import { closeRetryMs, openTimeoutMs, stopRetryMs } from '../ledger/ledger-waits.ts';
import { RecentCalls } from '../ledger/recent-calls.ts';
import { checkpointWaitMs } from './database.ts';
import { LedgerQueue } from './ledger-queue.ts';
import type { LedgerWriter } from './ledger-writer.ts';

const busy = 5;
const diskFull = 13;

function row(requestId: string): ReservationRow {
  return {
    requestId,
    bootId: 'boot',
    atMs: 1,
    account: 'dev',
    keyId: 'k',
    tenant: 'dev/k',
    endpoint: 'chat',
    alias: 'smart',
    tier: null,
    quotaMs: 1,
    costMilli: 1_000,
    furtherScopes: null,
    inputTokensEstimate: 1,
  };
}

function sqliteError(errcode: number): Error {
  return Object.assign(new Error(`sqlite ${errcode}`), { errcode });
}

/** A writer in memory that fails on command; `committed` is what a crash would leave. */
function setup(t: TestContext) {
  t.mock.timers.enable({ apis: ['setImmediate', 'setTimeout'] });
  const clock = fakeClock();
  const committed: string[][] = [];
  const dropped: string[] = [];
  const state = { failing: null as number | null, poison: '', isCheckpointing: false };
  let pending: string[] = [];
  const take = (what: string, id: string) => {
    if (id === state.poison) throw sqliteError(19);
    pending.push(`${what} ${id}`);
  };
  const writer: LedgerWriter = {
    begin() {
      pending = [];
      if (state.failing === busy) throw sqliteError(busy);
    },
    commit() {
      if (state.failing !== null) throw sqliteError(state.failing);
      committed.push(pending);
    },
    rollback: () => {},
    writeReservation(reservation) {
      take('open', reservation.requestId);
      return 1;
    },
    writeEvent(_key, event) {
      take('close', event.requestId);
      return true;
    },
    writeRefusal: (event) => take('note', event.requestId),
    writeTraffic: () => {},
    writeHeartbeat: () => {},
    strangers: () => [],
    forgetOtherBoots: () => {},
  };
  const queue = new LedgerQueue(writer, clock, new RecentCalls(65_000), {
    onCommitted: () => {},
    isCheckpointing: () => state.isCheckpointing,
    onDropped: (event) => dropped.push(event.requestId),
  });
  const pass = (ms: number) => {
    clock.advance(ms);
    t.mock.timers.tick(ms);
  };
  return { clock, queue, committed, dropped, state, pass };
}

async function refusalOf(opened: Promise<void>): Promise<string> {
  const error = await opened.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof FailureError, `expected a refusal, got ${error}`);
  return error.failure.kind;
}

test('what comes in during one turn is one commit', async (t) => {
  const { queue, committed, pass } = setup(t);
  const opened = ['a', 'b', 'c'].map((id) => queue.open(row(id)));
  pass(0);
  await Promise.all(opened);
  assert.deepEqual(committed, [['open a', 'open b', 'open c']]);
});

test('beside others few opens wait for those of two more turns; eight wait for none, nor does who is alone', async (t) => {
  const { queue, committed } = setup(t);
  t.mock.timers.reset();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const alone = queue.open(row('alone'));
  await turn();
  assert.deepEqual(committed.splice(0), [['open alone']]);
  await alone;
  const few = [queue.open(row('a'))];
  for (const id of ['b', 'c']) {
    await turn();
    few.push(queue.open(row(id)));
  }
  await Promise.all(few);
  assert.deepEqual(committed.splice(0), [['open a', 'open b', 'open c']]);
  const eight = Array.from({ length: 8 }, (_, at) => queue.open(row(`r${at}`)));
  await turn();
  assert.equal(committed.length, 1);
  await Promise.all(eight);
});

test('a lone close is committed within 20 ms, many at once', async (t) => {
  const { queue, committed, pass } = setup(t);
  const rows = Array.from({ length: 40 }, (_, at) => row(`r${at}`));
  const opened = rows.map((one) => queue.open(one));
  pass(0);
  await Promise.all(opened);
  queue.close(crashedEvent(rows[0]!));
  pass(19);
  assert.equal(committed.length, 1);
  pass(1);
  pass(0);
  assert.deepEqual(committed[1], ['close r0']);
  for (const one of rows.slice(1, 33)) queue.close(crashedEvent(one));
  pass(0);
  assert.equal(committed[2]?.length, 32);
});

test('F33 another process holds the lock: the reservation waits, and is refused at 250 ms with nothing written', async (t) => {
  const { queue, committed, state, pass } = setup(t);
  state.failing = busy;
  const early = queue.open(row('early'));
  pass(0);
  pass(openTimeoutMs - 2);
  const late = queue.open(row('late'));
  pass(2);
  assert.equal(await refusalOf(early), 'quota-unavailable');
  state.failing = null;
  pass(2);
  await late;
  assert.deepEqual(committed, [['open late']]);
});

test('a checkpoint of ours holds the lock: the reservation waits for it, at most 1.5 s, and not beyond its own time', async (t) => {
  const { clock, queue, committed, state, pass } = setup(t);
  state.failing = busy;
  state.isCheckpointing = true;
  const patient = queue.open(row('patient'));
  const bound = queue.open(row('bound'), clock.monotonicMs() + 1_000);
  pass(0);
  for (let waitedMs = 0; waitedMs < 1_000; waitedMs += 50) pass(50);
  assert.equal(await refusalOf(bound), 'quota-unavailable');
  state.failing = null;
  pass(50);
  await patient;
  assert.deepEqual(committed, [['open patient']]);
  state.failing = busy;
  const refused = queue.open(row('refused'));
  pass(0);
  for (let waitedMs = 0; waitedMs < checkpointWaitMs; waitedMs += 50) pass(50);
  assert.equal(await refusalOf(refused), 'quota-unavailable');
});

test('a reader waits for a lock until its own writes are there, and for a failing disk not at all', async (t) => {
  const { queue, committed, state, pass } = setup(t);
  const opened = queue.open(row('asked'));
  pass(0);
  await opened;
  state.failing = busy;
  queue.close(crashedEvent(row('asked')));
  const read = queue.caughtUp().then(() => committed.at(-1));
  pass(2);
  await Promise.resolve();
  state.failing = null;
  pass(2);
  assert.deepEqual(await read, ['close asked']);

  state.failing = diskFull;
  const failing = queue.open(row('failing'));
  pass(0);
  await queue.caughtUp();
  pass(openTimeoutMs);
  assert.equal(await refusalOf(failing), 'quota-unavailable');
});

test('F30 the disk is full: 503 after 250 ms, and it heals by itself', async (t) => {
  const { queue, committed, state, pass } = setup(t);
  const before = queue.open(row('before'));
  pass(0);
  await before;
  state.failing = diskFull;
  queue.close(crashedEvent(row('before')));
  const refused = queue.open(row('refused'));
  pass(0);
  for (let waitedMs = 0; waitedMs < openTimeoutMs; waitedMs += 50) pass(50);
  assert.equal(await refusalOf(refused), 'quota-unavailable');
  // Callers read it in the 503: the driver's class of error says nothing to them.
  assert.equal(queue.trouble(), 'sqlite 13');
  state.failing = null;
  pass(50);
  assert.equal(queue.trouble(), null);
  assert.deepEqual(committed.at(-1), ['close before']);
  const after = queue.open(row('after'));
  pass(0);
  await after;
});

test('a close that cannot be written is given up after 30 s, told, and never blocks a shutdown', async (t) => {
  const { queue, dropped, state, pass } = setup(t);
  const opened = queue.open(row('a'));
  pass(0);
  await opened;
  state.failing = diskFull;
  queue.close(crashedEvent(row('a')));
  const drained = queue.drain();
  pass(0);
  for (let waitedMs = 0; waitedMs <= closeRetryMs; waitedMs += 50) pass(50);
  await drained;
  assert.deepEqual(dropped, ['a']);
  assert.deepEqual(queue.gauges(), { queued: 0, open: 0, dropped: 1 });
});

test('a stop waits 5 s for a close, and for no record of a refused request', async (t) => {
  for (const [waitsMs, request] of [
    [0, null],
    [stopRetryMs, 'a'],
  ] as const) {
    const { queue, dropped, state, pass } = setup(t);
    const opened = queue.open(row('a'));
    pass(0);
    await opened;
    state.failing = diskFull;
    queue.note(crashedEvent(row('refused')));
    if (request !== null) queue.close(crashedEvent(row(request)));
    let isStopped = false;
    const stopped = queue.stop().then(() => {
      isStopped = true;
    });
    for (let waitedMs = 0; waitedMs < waitsMs; waitedMs += 50) pass(50);
    await Promise.resolve();
    assert.equal(isStopped, false);
    pass(50);
    await stopped;
    assert.deepEqual(dropped, request === null ? [] : [request]);
    t.mock.timers.reset();
  }
});

test('one row that can never be written does not take the others with it', async (t) => {
  const { queue, committed, state, pass } = setup(t);
  state.poison = 'bad';
  const opened = ['a', 'bad', 'b'].map((id) => queue.open(row(id)));
  const outcomes = Promise.allSettled(opened);
  pass(0);
  assert.deepEqual(
    (await outcomes).map((outcome) => outcome.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(committed.flat(), ['open a', 'open b']);
});

test('a close without a reservation, or a second one, writes nothing', async (t) => {
  const { queue, committed, pass } = setup(t);
  const opened = queue.open(row('a'));
  pass(0);
  await opened;
  queue.close(crashedEvent(row('a')));
  queue.close(crashedEvent(row('a')));
  queue.close(crashedEvent(row('never')));
  queue.nudge();
  assert.deepEqual(committed.slice(1), [['close a']]);
});

test('F32 after a failed sync nothing is admitted any more', async (t) => {
  const { queue } = setup(t);
  queue.admit('the ledger could not be synced', 'for-good');
  queue.admit(null);
  assert.equal(await refusalOf(queue.open(row('a'))), 'quota-unavailable');
  assert.equal(queue.trouble(), 'the ledger could not be synced');
});

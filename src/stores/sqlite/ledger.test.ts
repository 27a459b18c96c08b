// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { bucketsOf } from '../../books/metering/counter-scope.ts';
import type { ReservationRow } from '../../books/metering/ledger.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { systemClock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import { openTimeoutMs } from '../ledger/ledger-waits.ts';
import { checkpointing, openDatabase } from './database.ts';
import { openSqliteLedger, type SqliteLedger } from './ledger.ts';

function setup(t: TestContext): { file: string; ledger: SqliteLedger; troubles: string[] } {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-ledger-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'ledger.db');
  const troubles: string[] = [];
  const ledger = openSqliteLedger({
    file,
    bootId: 'boot',
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: (message) => troubles.push(message),
  });
  return { file, ledger, troubles };
}

function row(atMs = Date.now()): ReservationRow {
  return {
    requestId: newRequestId(atMs),
    bootId: 'boot',
    atMs,
    account: 'dev',
    keyId: 'k',
    tenant: 'dev/k',
    endpoint: 'chat',
    alias: 'smart',
    tier: null,
    quotaMs: atMs,
    costMilli: 1_000,
    furtherScopes: null,
    inputTokensEstimate: 1,
  };
}

/** Whole requests of about 4 KB of log each, `count` of them, as fast as they go. */
async function write(ledger: SqliteLedger, count: number): Promise<void> {
  const padding = 'x'.repeat(3_000);
  for (let done = 0; done < count; done += 50) {
    const rows = Array.from({ length: 50 }, () => row());
    await Promise.all(rows.map((one) => ledger.open(one)));
    for (const one of rows) ledger.close({ ...crashedEvent(one), route: { attempts: [], padding } });
  }
}

test('F33 a second process holds the write lock: the request is refused within 250 ms, the loop goes on', async (t) => {
  const { file, ledger } = setup(t);
  await ledger.flush();
  const other = openDatabase(file, 'checkpoint', 0);
  other.exec('BEGIN IMMEDIATE');
  const beforeMs = performance.now();
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 5);
  const refused = row();
  await assert.rejects(
    ledger.open(refused),
    (error) => error instanceof FailureError && error.failure.kind === 'quota-unavailable',
  );
  clearInterval(turning);
  assert.ok(performance.now() - beforeMs >= openTimeoutMs);
  assert.ok(turns > 10, `the loop stood still: ${turns} turns`);
  other.exec('ROLLBACK');
  // Heals by itself, and the refused one is nowhere.
  await ledger.open(row());
  assert.equal(other.prepare('SELECT count(*) AS n FROM reservation').get()?.n, 1);
  assert.equal(await ledger.find(refused.requestId, null), null);
  other.close();
  await ledger.shutdown();
});

test('a checkpoint of ours holds the lock for longer than 250 ms: reservations wait for it', async (t) => {
  const { file, ledger } = setup(t);
  await ledger.flush();
  const other = openDatabase(file, 'checkpoint', 0);
  other.exec('BEGIN IMMEDIATE');
  // A slow disk in small: the lock is held as long as a sync would take there.
  const ended = checkpointing(file, async () => {
    await pause(2 * openTimeoutMs);
    other.exec('ROLLBACK');
  });
  const beforeMs = performance.now();
  await ledger.open(row());
  assert.ok(performance.now() - beforeMs >= openTimeoutMs);
  await ended;
  other.exec('BEGIN IMMEDIATE');
  await assert.rejects(ledger.open(row()), FailureError);
  other.close();
  await ledger.shutdown();
});

test('F34 a long reader pins the log: requests go on, and the log starts over once it has left', async (t) => {
  const { file, ledger, troubles } = setup(t);
  await ledger.flush();
  const reader = openDatabase(file, 'checkpoint', 0);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM usage_event').get();
  await write(ledger, 6_000);
  await ledger.flush();
  const pinned = ledger.gauges().walBytes;
  assert.ok(pinned > 16 * 1024 * 1024, `the reader pins ${pinned} bytes`);
  reader.exec('COMMIT');
  reader.close();
  // Each flush is a sync, and each sync over the mark asks for a checkpoint, whose last step starts the file over.
  const isOver = () => ledger.gauges().walBytes <= 1024 * 1024 && statSync(`${file}-wal`).size <= 32 * 1024 * 1024;
  const deadlineMs = performance.now() + 20_000;
  while (!isOver() && performance.now() < deadlineMs) {
    await write(ledger, 50);
    await ledger.flush();
  }
  assert.ok(isOver(), `still ${ledger.gauges().walBytes} bytes, in a file of ${statSync(`${file}-wal`).size}`);
  assert.deepEqual(troubles, []);
  await ledger.shutdown();
});

test('F52 a reservation that another process has charged as crashed is not charged again by its own', async (t) => {
  const { file, ledger } = setup(t);
  const mine = row();
  await ledger.open(mine);
  const options = {
    file,
    bootId: 'stranger',
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: () => {},
  };
  const stranger = openSqliteLedger(options);
  assert.equal(await stranger.recover(), 1);
  ledger.close({ ...crashedEvent(mine), class: 'ok' });
  await ledger.flush();
  const other = openDatabase(file, 'checkpoint', 0);
  assert.deepEqual(
    other
      .prepare('SELECT class FROM usage_event')
      .all()
      .map((found) => found.class),
    ['crashed'],
  );
  other.close();
  await stranger.shutdown();
  await ledger.shutdown();
});

test('retention removes what came before, in batches, and nothing else', async (t) => {
  const { ledger } = setup(t);
  const dayMs = 86_400_000;
  const old = Array.from({ length: 1_200 }, (_, at) => row(Date.now() - 91 * dayMs + at));
  const young = [row(Date.now() - 89 * dayMs), row()];
  for (const one of [...old, ...young]) void ledger.open(one);
  await ledger.flush();
  for (const one of [...old, ...young]) {
    const attempt = {
      target: 'a/b',
      provider: 'a',
      model: 'b',
      credential: 'a#0',
      class: 'ok',
      status: 200,
      startMs: 0,
      ms: 1,
      firstTokenMs: null,
      bytes: 0,
      usage: null,
      usageSource: 'none',
      costUsd: null,
      message: null,
    };
    ledger.close({ ...crashedEvent(one), route: { attempts: [attempt, attempt] } });
  }
  await ledger.flush();
  assert.equal(await ledger.prune(Date.now() - 90 * dayMs), 1_200);
  assert.equal(await ledger.find(old[0]!.requestId, null), null);
  for (const one of young) assert.ok((await ledger.find(one.requestId, null)) !== null);
  await ledger.shutdown();
});

test('pruning removes quota buckets that no window counts any more, of every scope', async (t) => {
  const { file, ledger } = setup(t);
  const hourMs = 3_600_000;
  const nowMs = Date.now();
  // More than one batch of scopes, and one scope with more dead buckets than a batch takes.
  const rows = Array.from({ length: 250 }, (_, at) => row(nowMs - 33 * 24 * hourMs + at)).map((one, at) => ({
    ...one,
    tenant: `dev/k${at}`,
  }));
  for (let minute = 0; minute < 700; minute += 1) rows.push(row(nowMs - 24 * hourMs + minute * 60_000));
  rows.push(row(nowMs));
  await Promise.all(rows.map((one) => ledger.open(one)));
  for (const one of rows) ledger.close(crashedEvent(one));
  await ledger.flush();
  await ledger.prune(0);
  const other = openDatabase(file, 'checkpoint', 0);
  t.after(() => other.close());
  const left = other
    .prepare('SELECT scope, grain_ms, min(bucket) AS oldest FROM quota_bucket GROUP BY 1, 2 ORDER BY 1, 2')
    .all()
    .map((found) => `${found.scope} ${found.grain_ms}`);
  assert.deepEqual(left, ['a:dev 60000', 'a:dev 3600000', 'k:dev/k 60000', 'k:dev/k 3600000']);
  const [minutes] = other.prepare('SELECT count(*) AS n FROM quota_bucket WHERE grain_ms = 60000').all();
  assert.equal(minutes?.n, 2, 'the minutes of now');
  await ledger.shutdown();
});

test('usage of users is answered while days are added up', async (t) => {
  const { ledger } = setup(t);
  const dayMs = 86_400_000;
  const nowMs = Date.now();
  const query = { accounts: null, where: {}, splitBy: null, groupBy: 'user', fromMs: nowMs - 9 * dayMs } as const;
  // So many rows of a day that they are copied in several batches.
  const rows = Array.from({ length: 1_000 }, (_, at) => ({ ...row(nowMs - 3 * dayMs), keyId: `k${at}` }));
  await Promise.all(rows.map((one) => ledger.open(one)));
  for (const one of rows) ledger.close(crashedEvent(one));
  await ledger.flush();
  const asked: Promise<number>[] = [];
  const pruned = ledger.prune(0).then(() => (asked.length > 0 ? 'pruned' : 'before anybody asked'));
  for (let done = false; !done; ) {
    const answer = ledger.usage({ ...query, toMs: nowMs + dayMs }).then((found) => found[0]?.requests ?? 0);
    asked.push(answer);
    done = await Promise.race([pruned.then(() => true), answer.then(() => false)]);
  }
  assert.equal(await pruned, 'pruned');
  assert.deepEqual([...new Set(await Promise.all(asked))], [1_000]);
  await ledger.shutdown();
});

test('the files are for their owner only, and a clean shutdown leaves no log behind', async (t) => {
  const { file, ledger } = setup(t);
  await ledger.open(row());
  for (const name of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(name).mode & 0o777, 0o600, name);
  await ledger.shutdown();
  assert.throws(() => statSync(`${file}-wal`));
});

test('a start whose sinks find the file locked for a moment waits for it', async (t) => {
  const { file, ledger } = setup(t);
  const other = openDatabase(file, 'checkpoint', 0);
  other.exec('BEGIN IMMEDIATE');
  const begun = ledger.records.begin(['otlp']);
  await pause(50);
  other.exec('COMMIT');
  await begun;
  assert.equal(await ledger.records.take('otlp', 1_000), 0);
  other.close();
  await ledger.shutdown();
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { bucketsOf, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Returned } from '../../src/books/metering/counters.ts';
import { createGiveBack } from '../../src/books/metering/give-back.ts';
import type { Ledger } from '../../src/books/metering/ledger.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { FailureError } from '../../src/kernel/failure.ts';
import { databaseNowMs } from '../../src/stores/postgres/boots.ts';
import type { Database, PoolSizes } from '../../src/stores/postgres/database.ts';
import { openPostgresLedger } from '../../src/stores/postgres/ledger.ts';
import { writeReservations } from '../../src/stores/postgres/ledger-writer.ts';
import { openPostgres } from '../../src/stores/postgres/open.ts';
import { createPostgresAccountStore, createPostgresReplyStore } from '../../src/stores/postgres/stores.ts';
import { fakeClock } from '../fake-clock.ts';
import { assertWithin } from '../machine-load.ts';
import { postgresMissing, type StartedPostgres, startPostgres } from '../start-postgres.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { until } from '../until.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

interface Replica {
  database: Database;
  ledger: Ledger;
  told: string[];
}

async function replica(
  t: TestContext,
  url: string,
  bootId: string,
  { clock = systemClock, sizes, use = 'serve' }: { clock?: Clock; sizes?: PoolSizes; use?: 'serve' | 'look' } = {},
): Promise<Replica> {
  const database = await openPostgres(url, sizes);
  const told: string[] = [];
  const ledger = await openPostgresLedger({
    database,
    bootId,
    clock,
    use,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: (message) => told.push(message),
  });
  t.after(async () => {
    await ledger.shutdown();
    await database.close();
  });
  return { database, ledger, told };
}

/** Its ledger waits for a new connection as long as a busy machine takes for it. */
const standing = fakeClock(Date.now());

/** How long the refusal took, in ms. */
async function refusedAfterMs(work: Promise<unknown>): Promise<number> {
  const sinceMs = performance.now();
  const error: unknown = await work.then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FailureError, String(error));
  assert.equal(error.failure.kind, 'quota-unavailable');
  assert.doesNotMatch(JSON.stringify(error.failure), /127\.0\.0\.1|culvert@/);
  return performance.now() - sinceMs;
}

async function count(database: Database, sql: string): Promise<number> {
  const { rows } = await database.rest.run<{ count: number }>(`SELECT count(*) AS count FROM ${sql}`);
  return rows[0]?.count ?? Number.NaN;
}

/** A reservation that the ledger has taken: on a busy machine it refuses some, and nothing of them stays. */
async function opened(ledger: Ledger, facts: Parameters<typeof reservationRow>[0]) {
  for (let times = 1; ; times += 1) {
    const row = reservationRow(facts);
    const refused: unknown = await ledger.open(row).then(
      () => null,
      (error: unknown) => error,
    );
    if (refused === null) return row;
    if (times === 100) throw refused;
  }
}

/** Time that a loaded machine may add to 250 ms; a request that is not given up waits for a second or more. */
const slackMs = 500;

test('PostgreSQL under faults', { skip: postgresMissing }, async (t) => {
  const server: StartedPostgres = await startPostgres(t);

  await t.test(
    'F46 killed -9 and back: refused within 250 ms, served again without a restart, no row lost',
    async (t) => {
      const { database, ledger, told } = await replica(t, server.newDatabase(), 'boot-1');
      const accounts = createPostgresAccountStore(database);
      const rows = Array.from({ length: 40 }, () => reservationRow());
      await Promise.all(rows.map((row) => ledger.open(row)));
      for (const row of rows.slice(0, 20)) ledger.close(usageEvent(row));
      await ledger.flush();
      await server.stop('SIGKILL');

      for (const row of rows.slice(20)) ledger.close(usageEvent(row));
      const waits = Array.from({ length: 30 }, () => refusedAfterMs(ledger.open(reservationRow())));
      for (const waitedMs of await Promise.all(waits)) assertWithin(waitedMs, 250 + slackMs);
      await refusedAfterMs(accounts.version());
      await refusedAfterMs(ledger.find(rows[0]!.requestId, null));
      assert.match(
        ledger.trouble() ?? '',
        /^127\.0\.0\.1:\d+\/culvert_\d+_\d+: PostgreSQL cannot be reached: .*ECONNREFUSED/,
      );
      assert.match(told.join('\n'), /requests cannot be recorded/);

      await server.restart();
      const sinceMs = performance.now();
      await until('an open that passes', () =>
        ledger.open(reservationRow({ requestId: rows[0]!.requestId.replace(/.$/, 'x') })).then(
          () => true,
          () => false,
        ),
      );
      assertWithin(performance.now() - sinceMs, 2_000);
      assert.equal(await accounts.version(), 1);
      await until('the closes of the outage', async () => (await count(database, 'culvert.usage_event')) === 40);
      for (const row of rows) assert.equal((await ledger.find(row.requestId, 'dev'))?.class, 'ok');
      assert.equal(ledger.gauges().dropped, 0);
      await until('the end of the trouble', () => ledger.trouble() === null);

      const goOn = server.stall();
      const late = ledger.open(reservationRow()).finally(goOn);
      const isSilence = (error: FailureError) => /PostgreSQL does not answer/.test(JSON.stringify(error.failure));
      await assert.rejects(late, isSilence, 'no cause of before');
    },
  );

  await t.test(
    'S22 F53 the way was broken for a moment: who may enter is known again though connections stay silent',
    async (t) => {
      const proxy = await startCuttingProxy(t, server.port);
      const url = server.newDatabase().replace(`:${server.port}/`, `:${proxy.port}/`);
      const { database } = await replica(t, url, 'boot-1');
      const accounts = createPostgresAccountStore(database);
      assert.equal(await accounts.version(), 1);
      proxy.lose(true);
      // Other queries wait for the unanswered one, too.
      for (let i = 0; i < 4; i += 1) void database.rest.run('SELECT 1').catch(() => {});
      const waitedMs = await refusedAfterMs(accounts.version());
      assertWithin(waitedMs, 1_000 + slackMs);
      proxy.lose(false);
      const sinceMs = performance.now();
      assert.equal(await accounts.version(), 1);
      assertWithin(performance.now() - sinceMs, slackMs);
    },
  );

  await t.test('F47 the answer to an open is lost: it is asked again, and stands there once', async (t) => {
    const proxy = await startCuttingProxy(t, server.port);
    const url = server.newDatabase();
    const direct = await replica(t, url, 'boot-0');
    const { ledger } = await replica(t, url.replace(`:${server.port}/`, `:${proxy.port}/`), 'boot-1', {
      clock: standing,
    });
    await ledger.open(reservationRow());
    proxy.cutAfter('bulk-reservation');
    const row = reservationRow();
    await ledger.open(row);
    assert.equal(proxy.cuts(), 1);
    assert.equal(await count(direct.database, 'culvert.reservation'), 2);
    ledger.close(usageEvent(row));
    await ledger.flush();
    assert.equal((await ledger.find(row.requestId, null))?.class, 'ok');
  });

  await t.test('F47 the answer to COMMIT of settlements is lost: each is written and counted once', async (t) => {
    const proxy = await startCuttingProxy(t, server.port);
    const url = server.newDatabase();
    const { ledger, database } = await replica(t, url.replace(`:${server.port}/`, `:${proxy.port}/`), 'boot-1', {
      clock: standing,
    });
    const rows = Array.from({ length: 50 }, () => reservationRow());
    await Promise.all(rows.map((row) => ledger.open(row)));
    proxy.cutAfter('COMMIT');
    for (const row of rows) ledger.close(usageEvent(row));
    await ledger.flush();
    assert.equal(proxy.cuts(), 1);
    assert.equal(await count(database, 'culvert.usage_event'), 50);
    assert.equal(await count(database, 'culvert.reservation'), 0);
    const buckets = await ledger.buckets(['a:dev']);
    assert.equal(
      buckets.filter((row) => row.grainMs === 3_600_000).reduce((sum, row) => sum + row.units, 0),
      50_000,
    );
    // Pages draw these sums, each request once.
    proxy.cutAfter('COMMIT', 'bulk-traffic');
    const ofHours = { kind: 'all', names: [''], grain: 'hour', fromMs: 0, stepMs: 3_600_000 } as const;
    const points = await ledger.traffic({ ...ofHours, toMs: Date.now() + 3_600_000 });
    assert.equal(proxy.cuts(), 2);
    assert.equal(
      points.reduce((sum, { requests }) => sum + requests, 0),
      50,
    );
  });

  await t.test('F48 two connections and a lock: refused at a second, and nothing of it stays', async (t) => {
    const { database, ledger } = await replica(t, server.newDatabase(), 'boot-1', {
      sizes: { opens: 2, closes: 1, keys: 1, rest: 2 },
    });
    await ledger.open(reservationRow());
    await database.rest.transaction('write', async (run) => {
      await run('LOCK TABLE culvert.reservation IN ACCESS EXCLUSIVE MODE');
      const soon = refusedAfterMs(ledger.open(reservationRow(), systemClock.monotonicMs() + 400));
      const waits: Promise<number>[] = [];
      for (let round = 0; round < 8; round += 1) {
        waits.push(refusedAfterMs(ledger.open(reservationRow())));
        await pause(20);
      }
      const first = await Promise.race([soon.then(() => 'soon'), ...waits.map((wait) => wait.then(() => 'later'))]);
      assert.equal(first, 'soon', 'a hold that must be booked by then is refused then');
      // The clock of its refusal starts a little before ours.
      assert.ok((await soon) >= 300);
      // It answers others, so it is not gone.
      for (const waitedMs of await Promise.all(waits)) {
        assert.ok(waitedMs >= 900, `${waitedMs} ms`);
        assertWithin(waitedMs, 1_000 + slackMs);
      }
    });
    await until('an open that passes', () =>
      ledger.open(reservationRow({ alias: 'after' })).then(
        () => true,
        () => false,
      ),
    );
    // Late arrivals are removed again.
    await until('two reservations', async () => (await count(database, 'culvert.reservation')) === 2);
  });

  await t.test('F48 a refused reservation that comes behind its removal is removed, too', async (t) => {
    const clock = fakeClock(Date.now());
    const { database, ledger } = await replica(t, server.newDatabase(), 'boot-1', { clock });
    const tooLate = () => clock.monotonicMs() - 1;
    const [row, again] = [reservationRow(), reservationRow()];
    await refusedAfterMs(ledger.open(row, tooLate()));
    await refusedAfterMs(ledger.open(again, tooLate()));
    // As a give-back does that failed.
    await ledger.open(again);
    const held = () => count(database, 'culvert.reservation');
    clock.advance(2_500);
    await until('its removal', async () => (await held()) === 1);
    // One that was silent may write the row after that.
    await writeReservations(database.rest.run, [row]);
    clock.advance(2_500);
    await until('its second removal', async () => (await held()) === 1);
    ledger.close(usageEvent(again));
    await ledger.flush();
    assert.equal((await ledger.find(again.requestId, 'dev'))?.class, 'ok');
  });

  await t.test('F49 a lock on replies: a keyed request is refused at 250 ms, and its key is given back', async (t) => {
    const { database } = await replica(t, server.newDatabase(), 'boot-1');
    const replies = createPostgresReplyStore(database);
    const takenByFirst = `INSERT INTO culvert.reply VALUES ('dev chat', 'once', 'ab', 'req_1', 'boot-1', 2000)
        ON CONFLICT DO NOTHING`;
    const take = (requestId: string) =>
      replies.take({
        scope: 'dev chat',
        key: 'once',
        bodyHash: 'ab',
        requestId,
        bootId: 'boot-1',
        nowMs: 1_000,
        expiresMs: 2_000,
      });
    await database.rest.transaction('write', async (run) => {
      await run('LOCK TABLE culvert.reply IN ACCESS EXCLUSIVE MODE');
      const waitedMs = await refusedAfterMs(take('req_1'));
      assertWithin(waitedMs, 250 + slackMs);
    });
    // The server may have done a moment later what it did not answer: nobody would come back to it.
    await database.rest.run(takenByFirst);
    assert.equal((await take('req_2')).kind, 'in-flight');
    await until('the key to be given back', async () => (await count(database, 'culvert.reply')) === 0);
    // One that was silent may take the key after it was given back.
    await database.rest.run(takenByFirst);
    await until('the key to be given back again', async () => (await take('req_2')).kind === 'taken');
  });

  await t.test('a job that begins and fails while it is late is given back, once it is not', async (t) => {
    const sizes = { opens: 2, closes: 1, keys: 1, rest: 1 };
    const { database, ledger } = await replica(t, server.newDatabase(), 'boot-1', { sizes });
    const returned: Returned[] = [];
    const troubles: string[] = [];
    let opens = 0;
    const giveBack = createGiveBack({
      ledger: {
        ...ledger,
        async open(row) {
          opens += 1;
          if (opens > 1) return ledger.open(row);
          // Longer than others wait for the connection.
          void database.rest.run('SELECT pg_sleep(1.5)');
          throw new Error('PostgreSQL does not answer');
        },
      },
      counters: { giveBack: (one) => returned.push(one) },
      replies: createPostgresReplyStore(database),
      bootId: 'boot-1',
      clock: systemClock,
      onTrouble: (message) => troubles.push(message),
    });
    const row = reservationRow({ costMilli: 8_000, endpoint: 'video' });
    await ledger.open(row);
    const goOn = server.stall();
    const remembered = giveBack.paidBy(row.tenant, 'video_1', row.requestId);
    await pause(600).finally(goOn);
    await remembered;
    await until('its payer', async () => (await count(database, 'culvert.reply WHERE status = 200')) === 1);
    ledger.close(usageEvent(row));
    await ledger.flush();
    assert.equal(await giveBack.failed(row.tenant, 'video_1'), false);
    await until('given back', () => giveBack.failed(row.tenant, 'video_1'));
    assert.deepEqual([returned.length, troubles.length], [1, 1], String(troubles));
  });

  await t.test('F38 the reservations of a silent boot are charged once, by one of all who look', async (t) => {
    const url = server.newDatabase();
    const clock = fakeClock(Date.now());
    const dead = await replica(t, url, 'dead');
    const lives = await Promise.all(['a', 'b', 'c'].map((boot) => replica(t, url, boot, { clock })));
    const { database } = lives[0]!;
    await Promise.all(Array.from({ length: 500 }, () => opened(dead.ledger, { bootId: 'dead' })));
    const recoverAll = async () => {
      const counts = await Promise.all(lives.map(({ ledger }) => ledger.recover()));
      return counts.reduce((sum, one) => sum + one, 0);
    };
    const silence = (ms: number) =>
      database.rest.run(`UPDATE culvert.boot SET seen_ms = ${databaseNowMs} - ${ms} WHERE id = 'dead'`);
    clock.advance(10_000);
    assert.equal(await recoverAll(), 0, 'it beat just now');
    await silence(15_000);
    assert.equal(await recoverAll(), 0, 'silent, but not yet for 30 s');
    let recovered = 0;
    // Its own process lives on and may beat between.
    await until('all are charged', async () => {
      await silence(30_001);
      recovered += await recoverAll();
      return recovered > 0;
    });
    assert.equal(recovered, 500);
    assert.equal(await recoverAll(), 0);
    assert.equal(await count(database, `culvert.usage_event WHERE class = 'crashed' AND cost_milli = 1000`), 500);
    const buckets = await lives[0]!.ledger.buckets(['a:dev']);
    const hours = buckets.filter((row) => row.grainMs === 3_600_000);
    assert.equal(
      hours.reduce((sum, row) => sum + row.units, 0),
      500_000,
    );
  });

  await t.test('F46 after an outage in which everybody was silent nobody is taken for dead', async (t) => {
    const url = server.newDatabase();
    const clock = fakeClock(Date.now());
    const other = await replica(t, url, 'other');
    await other.ledger.open(reservationRow({ bootId: 'other' }));
    // A replica that starts now has heard nobody yet.
    const judge = await replica(t, url, 'judge', { clock });
    await judge.database.rest.run(`UPDATE culvert.boot SET seen_ms = seen_ms - 60000 WHERE id = 'other'`);
    assert.equal(await judge.ledger.recover(), 0);
    clock.advance(9_999);
    assert.equal(await judge.ledger.recover(), 0);
    clock.advance(1);
    assert.equal(await judge.ledger.recover(), 1);
  });

  await t.test('F46 a settlement that waited 30 s in vain is charged at its estimate', async (t) => {
    const clock = fakeClock(Date.now());
    const { ledger, database, told } = await replica(t, server.newDatabase(), 'boot-1', { clock });
    const row = reservationRow();
    await ledger.open(row);
    await server.stop('SIGKILL');
    ledger.close(usageEvent(row));
    clock.advance(30_000);
    await until('the close to be given up', () => ledger.gauges().dropped === 1);
    assert.match(told.join('\n'), new RegExp(`the end of ${row.requestId} could not be written`));
    await server.restart();
    clock.advance(3_000);
    await until('the reservation to be charged', async () => (await ledger.recover().catch(() => 0)) === 1);
    const event = await ledger.find(row.requestId, 'dev');
    assert.equal(event?.usageSource, 'estimated');
    assert.equal(event?.costMilli, 1_000);
    assert.equal(await count(database, 'culvert.reservation'), 0);
  });

  await t.test('F52 three replicas settle for one account: buckets, roll-ups and events say the same', async (t) => {
    const url = server.newDatabase();
    const replicas = await Promise.all(['a', 'b', 'c'].map((boot) => replica(t, url, boot)));
    const settle = async ({ ledger }: Replica, bootId: string) => {
      for (let round = 0; round < 8; round += 1) {
        const rows = await Promise.all(
          Array.from({ length: 40 }, (_, at) =>
            opened(ledger, { bootId, tier: at % 2 === 0 ? 'big' : null, tenant: `dev/${at % 3}`, alias: `m${at % 4}` }),
          ),
        );
        for (const row of rows) ledger.close(usageEvent(row, { costMilli: 50 }));
      }
      await ledger.flush();
    };
    await Promise.all(replicas.map((one, at) => settle(one, 'abc'[at]!)));
    const { ledger, database } = replicas[0]!;
    const all = 3 * 8 * 40;
    assert.equal(await count(database, 'culvert.usage_event'), all);
    const [usage] = await ledger.usage({
      accounts: ['dev'],
      where: {},
      groupBy: 'account',
      splitBy: null,
      fromMs: 0,
      toMs: Date.now() + 3_600_000,
    });
    assert.deepEqual(
      { requests: usage?.requests, milliUnits: usage?.milliUnits },
      { requests: all, milliUnits: all * 50 },
    );
    const buckets = await ledger.buckets(['a:dev', 'a:dev#big']);
    const sum = (scope: string, grainMs: number) =>
      buckets
        .filter((row) => row.scope === scope && row.grainMs === grainMs)
        .reduce((units, row) => units + row.units, 0);
    assert.equal(sum('a:dev', 60_000), all * 50);
    assert.equal(sum('a:dev', 3_600_000), all * 50);
    assert.equal(sum('a:dev#big', 60_000), (all * 50) / 2);
    await until('no reservation is left', async () => (await count(database, 'culvert.reservation')) === 0);
  });

  await t.test(
    'F44 a seed is of one instant: each request is settled or open in it, never both, never neither',
    async (t) => {
      const url = server.newDatabase();
      const { ledger } = await replica(t, url, 'a');
      const reader = await replica(t, url, 'b');
      const rows = Array.from({ length: 600 }, () => reservationRow({ bootId: 'a' }));
      await Promise.all(rows.map((row) => ledger.open(row)));
      const ids = rows.map((row) => row.requestId);
      const scopes = scopesOf({ account: 'dev', tenant: 'dev/laptop', tier: null });
      const closing = (async () => {
        for (const row of rows) {
          ledger.close(usageEvent(row));
          if (Math.random() < 0.2) await pause(1);
        }
      })();
      for (let look = 0; look < 30; look += 1) {
        const seed = await reader.ledger.seed('dev', scopes, ids);
        const open = seed.open.map((row) => row.requestId);
        assert.deepEqual([...open, ...seed.settled.keys()].toSorted(), ids.toSorted());
        const settledUnits = seed.buckets
          .filter((row) => row.scope === 'a:dev' && row.grainMs === 60_000)
          .reduce((units, row) => units + row.units, 0);
        assert.equal(settledUnits, seed.settled.size * 1_000);
      }
      await closing;
    },
  );

  await t.test('S4 what PostgreSQL cannot keep in text neither breaks a batch nor a look-up', async (t) => {
    const { ledger } = await replica(t, server.newDatabase(), 'boot-1');
    const rows = Array.from({ length: 3 }, () => reservationRow());
    await Promise.all(rows.map((row) => ledger.open(row)));
    ledger.close(usageEvent(rows[0]!, { user: 'a\0b', clientRequestId: 'half \ud800' }));
    ledger.close(usageEvent(rows[1]!, { user: `'); DROP TABLE culvert.usage_event; --` }));
    // A number of no integer's size: this one cannot be written at all.
    ledger.close(usageEvent(rows[2]!, { outputTokens: 1e300 }));
    await ledger.flush();
    assert.equal((await ledger.find(rows[0]!.requestId, 'dev'))?.user, 'a\uFFFDb');
    assert.equal((await ledger.find(rows[1]!.requestId, 'dev'))?.user, `'); DROP TABLE culvert.usage_event; --`);
    assert.equal(await ledger.find('\0', null), null);
    assert.equal(ledger.gauges().dropped, 1);
  });

  await t.test('servers that beat are counted; one that says goodbye, or only looks, is not', async (t) => {
    const url = server.newDatabase();
    const a = await replica(t, url, 'a');
    assert.equal(await a.ledger.livingBoots(), 1);
    const b = await replica(t, url, 'b');
    assert.equal(await b.ledger.livingBoots(), 2);
    await a.ledger.shutdown();
    const c = await replica(t, url, 'c');
    assert.equal(await c.ledger.livingBoots(), 2);
    const look = await replica(t, url, 'look', { use: 'look' });
    await refusedAfterMs(look.ledger.open(reservationRow()));
    assert.equal(await count(look.database, 'culvert.boot'), 3);
  });
});

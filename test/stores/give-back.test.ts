import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { Returned } from '../../src/books/metering/counters.ts';
import { createGiveBack, giveBackEndpoint } from '../../src/books/metering/give-back.ts';
import type { Ledger } from '../../src/books/metering/ledger.ts';
import { repriced } from '../../src/books/metering/reprice.ts';
import { createPrice } from '../../src/formats/neutral/price.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { until } from '../until.ts';
import { drivers, type StoreUnderTest } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

/** A process that gives back; `dies`: it is killed between its two writes of the ledger, or after them. */
async function processOf(store: StoreUnderTest, bootId: string, dies: 'between' | 'after' | null = null) {
  const ledger = await store.ledger(bootId);
  const replies = await store.replies(bootId);
  const returned: Returned[] = [];
  const dead = new Promise<never>(() => {});
  const written: Pick<Ledger, 'open' | 'close' | 'find' | 'flush' | 'reprice' | 'statements'> = {
    ...ledger,
    close: (event) => dies !== 'between' && ledger.close(event),
    flush: async () => {
      if (dies !== 'between') await ledger.flush();
      if (dies !== null) await dead;
    },
  };
  const giveBack = createGiveBack({
    ledger: written,
    counters: { giveBack: (one) => returned.push(one) },
    replies,
    bootId,
    clock: systemClock,
    onTrouble: (message) => assert.fail(message),
  });
  const end = async () => {
    await replies.close();
    await ledger.shutdown();
  };
  return { ledger, giveBack, returned, end };
}

async function givenBack(ledger: Ledger) {
  const where = { endpoint: giveBackEndpoint, class: 'ok' };
  const all = { accounts: null, where, sinceMs: null, untilMs: null, after: null, limit: 100, cursor: null };
  return (await ledger.list(all)).events;
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a failed job is given back once, whoever looks and however often`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const first = await processOf(store, 'boot-1');
    const row = reservationRow({ costMilli: 8_000, endpoint: 'video' });
    await first.giveBack.paidBy(row.tenant, 'video_1', row.requestId);
    assert.equal(await first.giveBack.failed(row.tenant, 'video_1'), false, 'its request still runs');
    await first.ledger.open(row);
    const paid = usageEvent(row, { costUsd: 0.8, videoSeconds: 8, inputTokens: 0, outputTokens: 0 });
    first.ledger.close(paid);
    await first.ledger.flush();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => first.giveBack.failed(row.tenant, 'video_1')));
    assert.deepEqual(outcomes.filter(Boolean), [true]);
    assert.equal(await first.giveBack.failed('dev/other', 'video_1'), false, 'of another tenant');
    const [event, ...more] = await givenBack(first.ledger);
    assert.deepEqual(more, []);
    assert.deepEqual([event!.costMilli, event!.costUsd, event!.videoSeconds], [-8_000, -0.8, -8]);
    assert.equal(event!.route.of, row.requestId);
    assert.deepEqual(
      first.returned.map(({ costMilli, usdNano, quotaMs }) => [costMilli, usdNano, quotaMs]),
      [[8_000, 800_000_000, row.quotaMs]],
    );
    // What counters that begin anew read: nothing is left of it.
    const scopes = [...new Set(bucketsOf(paid).map(({ scope }) => scope))];
    for (const { units, usdNano } of await first.ledger.buckets(scopes)) assert.deepEqual([units, usdNano], [0, 0]);
    await first.end();
    const second = await processOf(store, 'boot-2');
    assert.equal(await second.giveBack.failed(row.tenant, 'video_1'), false, 'after a restart');
    assert.equal((await givenBack(second.ledger)).length, 1);
    await second.end();
  });

  for (const [charged, later] of [
    [null, 0.8],
    [0.2, 0.8],
    [0.8, 0.2],
  ] as const) {
    const name = `a job that failed after a recalculation (${charged} → ${later} USD) gets back what budgets counted`;
    test(`${driver.name}: ${name}`, { skip }, async (t) => {
      const store = await driver.create();
      t.after(() => store.remove());
      const { ledger, giveBack, returned, end } = await processOf(store, 'boot-1');
      const row = reservationRow({ costMilli: 8_000, endpoint: 'video', furtherScopes: 'c:dev' });
      await giveBack.paidBy(row.tenant, 'video_1', row.requestId);
      await ledger.open(row);
      const used = { videoSeconds: 8, inputTokens: 0, outputTokens: 0, route: { attempts: [] } };
      const before = usageEvent(row, { ...used, costUsd: charged });
      ledger.close(before);
      await ledger.flush();
      const after = repriced(before, () => createPrice([{ rates: { videoSecond: later / 8 } }]));
      assert.ok(typeof after !== 'string');
      assert.deepEqual(await ledger.reprice([{ before, after }], Date.now()), [row.requestId]);
      assert.equal(await giveBack.failed(row.tenant, 'video_1'), true);
      const counted = Math.round((charged ?? 0) * 1e9);
      assert.deepEqual(
        returned.map(({ usdNano }) => usdNano),
        [counted],
      );
      for (const { usdNano } of await ledger.buckets(['a:dev', 'k:dev/test', 'c:dev'])) assert.equal(usdNano, 0);
      assert.deepEqual(
        (await givenBack(ledger)).map(({ costUsd }) => costUsd),
        [-later],
      );
      const hourMs = 3_600_000;
      const span = { fromMs: Date.now() - hourMs, toMs: Date.now() + hourMs };
      const sums = await ledger.usage({ accounts: null, where: {}, groupBy: 'account', splitBy: null, ...span });
      assert.deepEqual(
        sums.map(({ costUsd }) => costUsd),
        [0],
      );
      await end();
    });
  }

  test(`${driver.name}: a job of a closed month is a credit of the open one, once`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const dayMs = 24 * 3_600_000;
    const nowMs = Date.now();
    const monthsAgo = (count: number) =>
      new Date(new Date(nowMs).setUTCMonth(new Date(nowMs).getUTCMonth() - count, 1));
    const month = monthsAgo(1).toISOString().slice(0, 7);
    const [fromMs, toMs] = [Date.parse(`${month}-01`), Date.parse(`${monthsAgo(0).toISOString().slice(0, 7)}-01`)];
    const row = reservationRow({ atMs: toMs - 60_000, costMilli: 8_000, endpoint: 'video' });
    const usedIn = async ({ ledger }: { ledger: Ledger }, fromMs: number, toMs: number) =>
      (await ledger.usage({ accounts: null, where: {}, groupBy: 'account', splitBy: null, fromMs, toMs })).map(
        ({ costUsd, milliUnits }) => [costUsd, milliUnits],
      );
    const first = await processOf(store, 'boot-1', 'after');
    await first.ledger.open(row);
    first.ledger.close(usageEvent(row, { costUsd: 0.8, videoSeconds: 8, settledMs: row.atMs }));
    await first.ledger.flush();
    await first.giveBack.paidBy(row.tenant, 'video_1', row.requestId);
    const closed = { month, closedBy: 'test', body: '{}' };
    await first.ledger.statements.keep({ ...closed, timeZone: 'UTC', closedMs: nowMs - 2_000 });
    // The job is in none of this month, so when it was closed does not matter.
    const before = monthsAgo(2).toISOString().slice(0, 7);
    await first.ledger.statements.keep({ ...closed, month: before, timeZone: 'UTC', closedMs: nowMs - 1_500 });
    void first.giveBack.failed(row.tenant, 'video_1');
    await until('it is given back', async () => (await givenBack(first.ledger)).length > 0);
    assert.deepEqual(await usedIn(first, fromMs, toMs), [[0.8, 8_000]], 'as its statement has it');
    assert.deepEqual(await usedIn(first, toMs, nowMs + dayMs), [[-0.8, -8_000]]);
    const [back] = await givenBack(first.ledger);
    assert.equal(back!.atMs, nowMs - 2_000);
    assert.deepEqual(await first.ledger.find(back!.requestId, null), back);
    await first.end();
    await store.letTheDeadBeKnown();
    const next = await processOf(store, 'boot-2');
    await next.ledger.recover();
    const running = new Date(nowMs).toISOString().slice(0, 7);
    await next.ledger.statements.keep({ ...closed, month: running, timeZone: 'UTC', closedMs: nowMs - 1_000 });
    assert.equal(await next.giveBack.failed(row.tenant, 'video_1'), false, 'its row from before is known');
    assert.equal((await givenBack(next.ledger)).length, 1);
    await next.end();
  });

  test(`${driver.name}: who dies while giving back is followed by one who does it, once`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const dying = await processOf(store, 'boot-1', 'between');
    const row = reservationRow({ costMilli: 8_000, endpoint: 'video' });
    await dying.ledger.open(row);
    dying.ledger.close(usageEvent(row));
    await dying.ledger.flush();
    await dying.giveBack.paidBy(row.tenant, 'video_1', row.requestId);
    void dying.giveBack.failed(row.tenant, 'video_1');
    const running = async () => (await dying.ledger.openReservations(row.account)).length;
    while ((await running()) === 0) await new Promise(setImmediate);
    await dying.end();
    await store.letTheDeadBeKnown();
    const next = await processOf(store, 'boot-2');
    await next.ledger.recover();
    assert.equal(await next.giveBack.failed(row.tenant, 'video_1'), true);
    assert.equal(await next.giveBack.failed(row.tenant, 'video_1'), false);
    assert.deepEqual(
      (await givenBack(next.ledger)).map(({ costMilli }) => costMilli),
      [-8_000],
    );
    await next.end();
  });
}

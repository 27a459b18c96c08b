import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bucketsOf, nanoUsd, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { BucketRow } from '../../src/books/metering/counters.ts';
import type { Ledger, ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

async function settle(ledger: Ledger, row: ReservationRow, over: Partial<UsageEvent> = {}): Promise<UsageEvent> {
  await ledger.open(row);
  const event = usageEvent(row, over);
  ledger.close(event);
  return event;
}

function sorted(rows: readonly BucketRow[]): BucketRow[] {
  const name = (row: BucketRow) => `${row.scope} ${row.grainMs} ${row.bucket}`;
  return rows.toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
}

/** Sums of the events, added up one by one. */
function expected(events: readonly UsageEvent[]): BucketRow[] {
  const sums = new Map<string, BucketRow>();
  for (const row of events.flatMap((event) => bucketsOf(event))) {
    const name = `${row.scope} ${row.grainMs} ${row.bucket}`;
    const sum = sums.get(name);
    if (sum === undefined) sums.set(name, row);
    else {
      sum.units += row.units;
      sum.tokens += row.tokens;
      sum.usdNano += row.usdNano;
    }
  }
  return sorted([...sums.values()]);
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: property: quota buckets hold what the events cost, however they were batched`, {
    skip,
  }, async () => {
    const spent = fc.record({
      account: fc.constantFrom('dev', 'ops'),
      key: fc.constantFrom('a', 'b'),
      tier: fc.constantFrom(null, 'large'),
      furtherScopes: fc.constantFrom(null, 'c:dev', 'b:dev/user/x\nc:dev'),
      // Few instants, so that requests that differ in nothing else meet in one batch.
      agoMs: fc.constantFrom(0, minuteMs, 4 * hourMs),
      tookMs: fc.constantFrom(0, minuteMs, 2 * hourMs),
      costMilli: fc.constantFrom(0, 50, 1_000, 12_345),
      tokens: fc.constantFrom(0, 7, 100_000),
      costUsd: fc.constantFrom(null, 0.1, 1e-9, 0.000_123_456_7),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(spent, { minLength: 1, maxLength: 60 }), fc.nat(9), async (all, flushAt) => {
        const store = await driver.create();
        const ledger = await store.ledger('boot-1');
        const nowMs = Date.now();
        const events: UsageEvent[] = [];
        for (const [at, one] of all.entries()) {
          const { account, tier, furtherScopes, costMilli, costUsd } = one;
          const atMs = nowMs - one.agoMs;
          const row = reservationRow({
            atMs,
            account,
            tenant: `${account}/${one.key}`,
            keyId: one.key,
            tier,
            furtherScopes,
            costMilli,
          });
          const settledMs = Math.min(nowMs, atMs + one.tookMs);
          events.push(await settle(ledger, row, { settledMs, inputTokens: one.tokens, outputTokens: 0, costUsd }));
          if (at % 10 === flushAt) await ledger.flush();
        }
        await ledger.flush();
        const scopes = [...new Set(events.flatMap((event) => scopesOf(event)))];
        assert.deepEqual(sorted(await ledger.buckets(scopes)), expected(events));
        await ledger.shutdown();
        await store.remove();
      }),
      { numRuns: driver.name === 'sqlite' ? 20 : 4 },
    );
  });

  test(`${driver.name}: buckets that no window counts any more are not given, and removed by pruning`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now();
    for (const agoMs of [0, 5 * hourMs + 3 * minuteMs, 31 * 24 * hourMs + 4 * hourMs]) {
      const row = reservationRow({ atMs: nowMs - agoMs, furtherScopes: 'c:dev' });
      await settle(ledger, row, { settledMs: nowMs - agoMs, costUsd: 1 });
    }
    await ledger.flush();
    const lengths = (rows: readonly BucketRow[]) =>
      [minuteMs, hourMs].map((grain) => rows.filter((row) => row.grainMs === grain).length);
    const before = await ledger.buckets(['a:dev']);
    assert.deepEqual(lengths(before), [1, 2]);
    assert.equal(await ledger.prune(0), 0, 'no request is old enough');
    assert.deepEqual(sorted(await ledger.buckets(['a:dev'])), sorted(before));
    const [credit, ...none] = await ledger.buckets(['c:dev']);
    assert.deepEqual([credit?.grainMs, credit?.usdNano, none], [0, 3_000_000_000, []]);
    await ledger.shutdown();
  });

  test(`${driver.name}: a bucket with more USD than JavaScript counts exactly has the most that it does`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now();
    // A price for one token in the place of that for a million makes them.
    for (let n = 0; n < 3; n++) {
      const row = reservationRow({ atMs: nowMs, quotaMs: nowMs, furtherScopes: 'c:dev' });
      await settle(ledger, row, { settledMs: nowMs, costUsd: 4_000_000 });
      await ledger.flush();
    }
    for (const { usdNano } of await ledger.buckets(['a:dev', 'c:dev'])) assert.equal(usdNano, Number.MAX_SAFE_INTEGER);
    await ledger.shutdown();
  });

  test(`${driver.name}: F38 a crash charges the windows once, in the bucket the units were held in`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const dead = await store.ledger('boot-1');
    const quotaMs = Date.now() - 2 * hourMs;
    const rows = Array.from({ length: 30 }, () => reservationRow({ quotaMs, tier: 'large' }));
    await Promise.all(rows.map((row) => dead.open(row)));
    await dead.shutdown();
    await store.letTheDeadBeKnown();
    const next = await store.ledger('boot-2');
    assert.equal(await next.recover(), 30);
    assert.equal(await next.recover(), 0);
    for (const scope of ['a:dev', 'k:dev/laptop', 'a:dev#large', 'k:dev/laptop#large']) {
      assert.deepEqual(sorted(await next.buckets([scope])), [
        { scope, grainMs: hourMs, bucket: Math.floor(quotaMs / hourMs), units: 30_000, tokens: 3_600, usdNano: 0 },
        { scope, grainMs: minuteMs, bucket: Math.floor(quotaMs / minuteMs), units: 30_000, tokens: 3_600, usdNano: 0 },
      ]);
    }
    await next.shutdown();
  });

  test(`${driver.name}: the calls of the last minute are known after a restart, running and settled ones`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const nowMs = Date.now();
    const first = await store.ledger('boot-1');
    await settle(first, reservationRow({ atMs: nowMs - 30_000, tier: 'large', endpoint: 'vectors' }));
    await settle(first, reservationRow({ atMs: nowMs - 62_000 }));
    await settle(first, reservationRow({ atMs: nowMs - 20_000, account: 'other', tenant: 'other/key' }));
    await first.open(reservationRow({ atMs: nowMs - 10_000 }));
    await first.shutdown();
    const next = await store.ledger('boot-2');
    await next.open(reservationRow({ atMs: nowMs, bootId: 'boot-2' }));
    const calls = (await next.recentCalls('dev', nowMs - 60_000)).toSorted((a, b) => a.atMs - b.atMs);
    assert.deepEqual(calls, [
      { atMs: nowMs - 30_000, tenant: 'dev/laptop', tier: 'large', endpoint: 'vectors' },
      { atMs: nowMs - 10_000, tenant: 'dev/laptop', tier: null, endpoint: 'chat' },
      { atMs: nowMs, tenant: 'dev/laptop', tier: null, endpoint: 'chat' },
    ]);
    await next.shutdown();
  });

  test(`${driver.name}: counters that begin anew are told of each request once: settled, or still open`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const open = reservationRow({ tier: 'large' });
    await ledger.open(open);
    const foreign = reservationRow({ account: 'other', tenant: 'other/key' });
    await ledger.open(foreign);
    const settledEvent = await settle(ledger, reservationRow(), { costMilli: 400 });
    const free = await settle(ledger, reservationRow(), { costMilli: 0 });
    const ids = [open.requestId, settledEvent.requestId, free.requestId, 'req_nobody', "' OR 1=1"];
    const kept = new Map([
      [settledEvent.requestId, 400],
      [free.requestId, 0],
    ]);
    await ledger.flush();
    assert.deepEqual(await ledger.openReservations('dev'), [open]);
    assert.deepEqual(await ledger.settled(ids), kept);
    const seed = await ledger.seed('dev', ['a:dev'], ids);
    assert.deepEqual(seed.open, [open]);
    assert.deepEqual(seed.settled, kept);
    assert.deepEqual(
      sorted(seed.buckets),
      expected([settledEvent, free]).filter((row) => row.scope === 'a:dev'),
    );
    assert.equal(await ledger.livingBoots(), 1);
    await ledger.shutdown();
  });

  test(`${driver.name}: the newest bucket is found, whoever's it is and however far ahead`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    assert.equal(await ledger.newestBucketMs(), 0);
    const aheadMs = Math.floor(Date.now() / minuteMs) * minuteMs + hourMs;
    for (const [account, quotaMs] of [
      ['dev', Date.now()],
      ['ops', aheadMs + 17],
      ['zoe', Date.now() - hourMs],
    ] as const)
      await settle(ledger, reservationRow({ account, tenant: `${account}/a`, quotaMs }));
    await ledger.flush();
    assert.equal(await ledger.newestBucketMs(), aheadMs);
    await ledger.shutdown();
  });

  test(`${driver.name}: costs in USD are summed to the nano, not drifting`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const rows = Array.from({ length: 100 }, () => reservationRow());
    await Promise.all(rows.map((row) => ledger.open(row)));
    for (const row of rows) ledger.close(usageEvent(row, { costUsd: 0.1 }));
    await ledger.flush();
    const hours = (await ledger.buckets(['a:dev'])).filter((row) => row.grainMs === hourMs);
    assert.equal(
      hours.reduce((sum, row) => sum + row.usdNano, 0),
      nanoUsd(10),
    );
    await ledger.shutdown();
  });
}

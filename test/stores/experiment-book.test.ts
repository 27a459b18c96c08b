import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsPerRequestMax, type VariantTimes } from '../../src/books/metering/experiments/experiment-book.ts';
import type { Ledger, UsageEvent } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const hourMs = 3_600_000;
const nowMs = Date.now() - hourMs;

async function settled(ledger: Ledger, atMs: number, over: Partial<UsageEvent> = {}): Promise<UsageEvent> {
  const row = reservationRow({ atMs, alias: over.alias ?? 'smart', account: over.account ?? 'dev' });
  await ledger.open(row);
  const event = usageEvent(row, { variant: 'a', settledMs: atMs + 5, ...over });
  ledger.close(event);
  return event;
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: feedback is one value a metric, lives as long as its request, and has a bound`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const old = await settled(ledger, nowMs - 48 * hourMs);
    const event = await settled(ledger, nowMs);
    const { experiments } = ledger;
    const say = (
      requestId: string,
      metric: string,
      value: number | boolean,
      atMs = nowMs,
      comment: string | null = null,
    ) =>
      experiments.rate(
        { requestId, metric, value, comment, atMs },
        requestId === old.requestId ? old : event,
        metricsPerRequestMax,
      );
    assert.equal(await say(event.requestId, 'helpful', false, nowMs, 'no'), 'kept');
    await say(event.requestId, 'helpful', true, nowMs + 1);
    await say(event.requestId, 'stars', 4.5, nowMs, 'häufig 😀');
    await say(old.requestId, 'helpful', true);
    assert.deepEqual(await experiments.feedbackOf(event.requestId), [
      { requestId: event.requestId, metric: 'helpful', value: true, comment: null, atMs: nowMs + 1 },
      { requestId: event.requestId, metric: 'stars', value: 4.5, comment: 'häufig 😀', atMs: nowMs },
    ]);
    for (let at = 2; at < metricsPerRequestMax; at += 1) assert.equal(await say(event.requestId, `m${at}`, at), 'kept');
    assert.equal(await say(event.requestId, 'further', 1), 'too-many');
    assert.equal(await say(event.requestId, 'helpful', false), 'kept');

    await ledger.prune(nowMs - hourMs);
    assert.deepEqual(await experiments.feedbackOf(old.requestId), []);
    assert.equal((await experiments.feedbackOf(event.requestId)).length, metricsPerRequestMax);
    await ledger.shutdown();
  });

  test(`${driver.name}: results are the sums of a model's variants in a time, of the accounts asked for`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const events: UsageEvent[] = [];
    for (let at = 0; at < 8; at += 1) {
      events.push(
        await settled(ledger, nowMs + at, { variant: at % 2 ? 'b' : 'a', firstTokenMs: 100 + (at % 2), costUsd: 0.5 }),
      );
    }
    await settled(ledger, nowMs, { variant: 'b', class: 'transient', status: 502, firstTokenMs: null, costUsd: null });
    await settled(ledger, nowMs, { variant: 'b', account: 'ops', firstTokenMs: 12_345 });
    await settled(ledger, nowMs, { alias: 'other', variant: 'b' });
    await settled(ledger, nowMs - 3 * hourMs, { variant: 'a' });
    for (const [at, event] of events.entries()) {
      const said = { requestId: event.requestId, comment: null, atMs: nowMs };
      await ledger.experiments.rate({ ...said, metric: 'helpful', value: at < 5 }, event, 20);
      await ledger.experiments.rate({ ...said, metric: 'stars', value: at }, event, 20);
    }
    const query = { alias: 'smart', accounts: ['dev'], fromMs: nowMs, toMs: nowMs + hourMs };
    const { times, ratings } = await ledger.experiments.results(query);
    const byVariant = (one: VariantTimes) => `${one.variant} ${one.firstTokenMs}`;
    assert.deepEqual(times.map((one) => [byVariant(one), one.requests, one.errors, one.costUsd]).sort(), [
      ['a 100', 4, 0, 2],
      ['b 101', 4, 0, 2],
      ['b null', 1, 1, 0],
    ]);
    assert.deepEqual(
      ratings
        .map(({ variant, metric, kind, n, sum, sumOfSquares }) => [metric, variant, kind, n, sum, sumOfSquares])
        .sort(),
      [
        ['helpful', 'a', 'boolean', 4, 3, 3],
        ['helpful', 'b', 'boolean', 4, 2, 2],
        ['stars', 'a', 'number', 4, 12, 56],
        ['stars', 'b', 'number', 4, 16, 84],
      ],
    );
    const all = await ledger.experiments.results({ ...query, accounts: null });
    assert.ok(
      all.times.some((one) => byVariant(one) === 'b 12300'),
      JSON.stringify(all.times),
    );
    assert.deepEqual((await ledger.experiments.results({ ...query, accounts: [] })).times, []);
    await ledger.shutdown();
  });

  test(`${driver.name}: results have the metrics with most feedback, however many names callers make up`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const names = Array.from({ length: 120 }, (_, at) => `a${at}`);
    for (let at = 0; at < 8; at += 1) {
      const event = await settled(ledger, nowMs + at, { account: at < 7 ? 'dev' : 'other' });
      const rate = (metric: string) =>
        ledger.experiments.rate(
          { requestId: event.requestId, metric, value: at, comment: null, atMs: nowMs },
          event,
          20,
        );
      await rate('zest');
      for (const name of names.slice(at * 15, at * 15 + 15)) await rate(name);
    }
    for (const accounts of [null, ['dev']]) {
      const { ratings } = await ledger.experiments.results({
        alias: 'smart',
        accounts,
        fromMs: nowMs,
        toMs: nowMs + 9,
      });
      assert.equal(ratings.length, 100);
      assert.equal(ratings.find(({ metric }) => metric === 'zest')?.n, accounts === null ? 8 : 7);
    }
    await ledger.shutdown();
  });

  test(`${driver.name}: results set the busiest accounts and callers of a variant apart, and know faults and hits`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const apartMax = 20;
    // Account number n has n requests of b, and one of a.
    for (let account = 1; account <= apartMax + 2; account += 1) {
      const by = { account: `n${account}`, user: `u${account % 2}`, firstTokenMs: 100 };
      await settled(ledger, nowMs, { ...by, variant: 'a', cache: account === 1 ? 'hit' : 'miss' });
      for (let n = 0; n < account; n += 1) await settled(ledger, nowMs, { ...by, variant: 'b' });
    }
    const failed = { account: 'n20', user: null, variant: 'b', firstTokenMs: null };
    await settled(ledger, nowMs, { ...failed, class: 'transient', status: 502 });
    await settled(ledger, nowMs, { ...failed, class: 'upstream-refused', status: 422 });
    const query = { alias: 'smart', accounts: null, fromMs: nowMs, toMs: nowMs + hourMs };
    const apart = async (by: 'account' | 'caller') =>
      (await ledger.experiments.results({ ...query, apart: { by, variants: ['b'], count: apartMax } })).times;
    const byAccount = await apart('account');
    const sumOf = (variant: string, by: string | null) =>
      byAccount.filter((row) => row.variant === variant && row.by === by).reduce((sum, row) => sum + row.requests, 0);
    assert.equal(new Set(byAccount.map(({ by }) => by)).size, apartMax + 1);
    assert.deepEqual(
      [`n${apartMax + 2}`, 'n3', null].map((by) => [sumOf('a', by), sumOf('b', by)]),
      [
        [1, apartMax + 2],
        [1, 3],
        [2, 3],
      ],
    );
    const ofFailed = byAccount.find((row) => row.by === 'n20' && row.firstTokenMs === null);
    assert.deepEqual([ofFailed?.requests, ofFailed?.errors, ofFailed?.faults], [2, 2, 1]);
    const callers = new Set((await apart('caller')).map(({ by }) => by));
    assert.equal(callers.size, 3, JSON.stringify([...callers]));
    const { times } = await ledger.experiments.results(query);
    assert.deepEqual(
      times
        .filter(({ variant }) => variant === 'a')
        .map((row) => [row.firstTokenMs, row.requests, row.by])
        .sort(),
      [
        [null, 1, null],
        [100, apartMax + 1, null],
      ],
    );
    await ledger.shutdown();
  });

  test(`${driver.name}: of replicas that take a variant out one does, and all see it until it is taken back`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const { experiments } = ledger;
    const experiment = { alias: 'smart', shape: 's1' };
    await Promise.all([1, 2, 3].map(() => experiments.begin(experiment, ['a', 'b'], nowMs)));
    await experiments.begin(experiment, ['a', 'b'], nowMs + 5);
    const out = { atMs: nowMs + 9, reason: 'Slow.' };
    const took = await Promise.all([1, 2, 3].map(() => experiments.takeOut(experiment, 'b', out)));
    assert.deepEqual(took.toSorted(), [false, false, true]);
    const states = async (shape = 's1') =>
      (await experiments.states({ ...experiment, shape })).toSorted((x, y) => (x.variant < y.variant ? -1 : 1));
    assert.deepEqual(await states(), [
      { variant: 'a', sinceMs: nowMs, out: null },
      { variant: 'b', sinceMs: nowMs, out },
    ]);
    assert.deepEqual(await states('s2'), []);
    assert.equal(await experiments.takeBack(experiment, 'a', nowMs + 10), false);
    assert.equal(await experiments.takeBack(experiment, 'b', nowMs + 10), true);
    assert.deepEqual((await states())[1], { variant: 'b', sinceMs: nowMs + 10, out: null });
    await experiments.begin({ ...experiment, shape: 's2' }, ['a'], nowMs + 91 * 24 * hourMs);
    assert.deepEqual(await states(), []);
    await ledger.shutdown();
  });
}

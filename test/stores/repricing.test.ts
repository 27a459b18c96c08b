import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger, UsageEvent, UsageGroup } from '../../src/books/metering/ledger.ts';
import { drivers } from './drivers.ts';
import { everything, reservationRow, usageEvent } from './rows.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const groups: readonly UsageGroup[] = ['hour', 'day', 'model', 'account', 'key', 'provider', 'user', 'tag'];

/** Every sum of USD that the ledger keeps, beside what its requests say. */
async function assertEqualSums(ledger: Ledger, nowMs: number): Promise<void> {
  const span = { fromMs: Math.floor(nowMs / dayMs) * dayMs - 5 * dayMs, toMs: nowMs + hourMs };
  const { events } = await ledger.list(everything);
  const nano = (of: readonly UsageEvent[], value: (event: UsageEvent) => number | null) =>
    of.reduce((sum, event) => sum + Math.round((value(event) ?? 0) * 1e9), 0);
  const wanted = [nano(events, ({ costUsd }) => costUsd), events.filter(({ costUsd }) => costUsd === null).length];
  for (const groupBy of groups) {
    const rows = await ledger.usage({ accounts: null, where: {}, groupBy, splitBy: null, ...span });
    const sum = rows.reduce((all, { costUsd }) => all + Math.round(costUsd * 1e9), 0);
    assert.deepEqual([sum, rows.reduce((all, { unpriced }) => all + unpriced, 0)], wanted, groupBy);
    const estimated = rows.reduce((all, { estimatedCostUsd }) => all + Math.round(estimatedCostUsd * 1e9), 0);
    assert.equal(
      estimated,
      nano(
        events.filter(({ usageSource }) => usageSource === 'estimated'),
        ({ costUsd }) => costUsd,
      ),
      groupBy,
    );
  }
  for (const kind of ['all', 'account', 'model', 'provider'] as const) {
    const names = { all: [''], account: ['dev', 'ops'], model: ['smart', 'small'], provider: ['openai'] }[kind];
    const points = await ledger.traffic({ kind, names, grain: 'hour', stepMs: hourMs, ...span });
    const sums = [
      points.reduce((all, { usdNano }) => all + usdNano, 0),
      points.reduce((all, { unpriced }) => all + unpriced, 0),
    ];
    assert.deepEqual(sums, wanted, kind);
  }
  const days = await ledger.promptCacheDays({ accounts: null, ...span });
  const saved = days.reduce((all, { savedUsd }) => all + Math.round(savedUsd * 1e9), 0);
  assert.equal(
    saved,
    nano(events, ({ savedUsd }) => savedUsd),
  );
}

for (const driver of drivers) {
  test(`${driver.name}: other costs of past requests are in every sum at once, and what was charged stays known`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now();
    const events: UsageEvent[] = [];
    for (let at = 0; at < 40; at += 1) {
      const names = { account: at % 3 === 0 ? 'ops' : 'dev', alias: at % 2 === 0 ? 'smart' : 'small' };
      const row = reservationRow({ atMs: nowMs - 4 * dayMs + at * 2.3 * hourMs, ...names });
      await ledger.open(row);
      const event = usageEvent(row, {
        costUsd: at % 4 === 0 ? null : at / 1_000,
        usageSource: at % 5 === 0 ? 'estimated' : 'upstream',
        cachedInputTokens: at % 3,
        savedUsd: at % 3 === 0 ? null : 0.001,
        user: at % 2 === 0 ? 'ann' : null,
        tag: at % 7 === 0 ? 'nightly' : null,
      });
      ledger.close(event);
      events.push(event);
    }
    await ledger.flush();
    // Adds up the days that are over.
    await ledger.prune(0);
    await assertEqualSums(ledger, nowMs);
    const buckets = await ledger.buckets(['a:dev', 'a:ops']);
    const changes = events.map((before, at) => {
      const savedUsd = before.cachedInputTokens > 0 ? 0.004 : null;
      return { before, after: { ...before, costUsd: 0.25 + at / 1_000, savedUsd } };
    });
    assert.equal((await ledger.reprice(changes.slice(0, 25), nowMs)).length, 25);
    await assertEqualSums(ledger, nowMs);
    const later = await ledger.reprice(changes.slice(20), nowMs);
    const idsOfRest = changes.slice(25).map(({ before }) => before.requestId);
    assert.deepEqual(later.toSorted(), idsOfRest.toSorted(), 'those that are changed already stay');
    assert.deepEqual(await ledger.reprice(changes, nowMs), []);
    await assertEqualSums(ledger, nowMs);
    assert.deepEqual((await ledger.find(events[0]!.requestId, null))?.costUsd, 0.25);
    assert.deepEqual(await ledger.buckets(['a:dev', 'a:ops']), buckets, 'what windows counted stays');
    const known = await ledger.repriced({ accounts: ['ops'], fromMs: nowMs - 10 * dayMs, toMs: nowMs });
    const ofOps = changes.filter(({ before }) => before.account === 'ops');
    assert.equal(
      known.reduce((sum, { usdNano }) => sum + usdNano, 0),
      ofOps.reduce((sum, { before, after }) => sum + Math.round((after.costUsd - (before.costUsd ?? 0)) * 1e9), 0),
    );
    assert.equal(
      known.reduce((sum, { unpriced }) => sum + unpriced, 0),
      -ofOps.filter(({ before }) => before.costUsd === null).length,
    );
    await ledger.shutdown();
  });
}

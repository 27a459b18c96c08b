import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const atMs = 1_750_000_000_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: what caches did is summed by model, also after a restart`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const rows = [
      { cache: 'miss', alias: 'smart' },
      { cache: 'hit', alias: 'smart', savedUsd: 0.25 },
      { cache: 'semantic', alias: 'smart', savedUsd: 0.5 },
      { cache: 'hit', alias: 'smart', savedUsd: 8, account: 'other' },
      { cache: 'hit', alias: 'smart', savedUsd: 16, atMs: atMs + 1_000 },
      { cache: 'miss', alias: 'small' },
      // Whole hours, and a part of one.
      { cache: 'hit', alias: 'late', savedUsd: 32, atMs: atMs + 3 * hourMs },
      { cache: 'miss', alias: 'late', atMs: atMs + 9 * hourMs },
      // The provider's own cache, and no cache.
      { cache: null, alias: 'large', savedUsd: 4 },
    ];
    for (const { cache, savedUsd = null, ...over } of rows) {
      const row = reservationRow({ atMs, ...over });
      await ledger.open(row);
      ledger.close(usageEvent(row, { cache, savedUsd }));
    }
    await ledger.shutdown();
    const later = await store.ledger('boot-2');
    const range = { fromMs: atMs, toMs: atMs + 1_000 };
    const small = { model: 'small', hits: 0, semanticHits: 0, misses: 1, savedUsd: 0 };
    const smart = { model: 'smart', hits: 2, semanticHits: 1, misses: 1, savedUsd: 0.75 };
    assert.deepEqual(await later.cacheUses({ accounts: ['dev'], ...range }), [small, smart]);
    const ofAll = { ...smart, hits: 3, savedUsd: 8.75 };
    assert.deepEqual(await later.cacheUses({ accounts: null, ...range }), [small, ofAll]);
    assert.deepEqual(await later.cacheUses({ accounts: [], ...range }), []);
    assert.deepEqual(await later.cacheUses({ accounts: null, fromMs: 0, toMs: atMs }), []);
    assert.deepEqual(await later.cacheUses({ accounts: null, model: 'small', ...range }), [small]);
    const long = { fromMs: atMs, toMs: atMs + 9 * hourMs };
    const late = { model: 'late', hits: 1, semanticHits: 0, misses: 0, savedUsd: 32 };
    const smartLong = { ...smart, hits: 3, savedUsd: 16.75 };
    assert.deepEqual(await later.cacheUses({ accounts: ['dev'], ...long }), [late, small, smartLong]);
    assert.deepEqual(await later.cacheUses({ accounts: ['dev'], fromMs: atMs, toMs: atMs + 9 * hourMs + 1 }), [
      { ...late, misses: 1 },
      small,
      smartLong,
    ]);
    assert.deepEqual(await later.cacheUses({ accounts: null, fromMs: atMs + 1_001, toMs: atMs + 3 * hourMs }), []);
    await later.shutdown();
  });

  test(`${driver.name}: what providers' caches did is summed by day`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const none = { cachedInputTokens: 0, cacheWriteTokens: 0 };
    const rows = [
      { cachedInputTokens: 100, cacheWriteTokens: 0, savedUsd: 0.5 },
      { cachedInputTokens: 20, cacheWriteTokens: 3, savedUsd: null, cache: 'miss' },
      { cachedInputTokens: 5, cacheWriteTokens: 40, savedUsd: -0.25, atMs: atMs + dayMs, alias: 'small' },
      { cachedInputTokens: 7, cacheWriteTokens: 0, savedUsd: 4, account: 'other' },
      // Neither no cache nor an answer that Culvert kept.
      { ...none, savedUsd: null },
      { cachedInputTokens: 9, cacheWriteTokens: 9, savedUsd: 8, cache: 'hit' },
    ];
    for (const { cachedInputTokens, cacheWriteTokens, savedUsd, cache = null, ...over } of rows) {
      const row = reservationRow({ atMs, ...over });
      await ledger.open(row);
      ledger.close(usageEvent(row, { cache, savedUsd, cachedInputTokens, cacheWriteTokens }));
    }
    await ledger.flush();
    const range = { fromMs: atMs, toMs: atMs + 2 * dayMs };
    const first = { day: '2025-06-15', requests: 2, cachedInputTokens: 120, cacheWriteTokens: 3, savedUsd: 0.5 };
    const second = { day: '2025-06-16', requests: 1, cachedInputTokens: 5, cacheWriteTokens: 40, savedUsd: -0.25 };
    assert.deepEqual(await ledger.promptCacheDays({ accounts: ['dev'], ...range }), [first, second]);
    assert.deepEqual(await ledger.promptCacheDays({ accounts: null, model: 'small', ...range }), [second]);
    const ofAll = { ...first, requests: 3, cachedInputTokens: 127, savedUsd: 4.5 };
    assert.deepEqual(await ledger.promptCacheDays({ accounts: null, fromMs: atMs, toMs: atMs + 1 }), [ofAll]);
    assert.deepEqual(await ledger.promptCacheDays({ accounts: [], ...range }), []);
    await ledger.shutdown();
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const atMs = 1_750_000_000_000;

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
    await later.shutdown();
  });
}

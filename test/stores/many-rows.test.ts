import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAccountStore } from '../../src/stores/accounts/account-store.ts';
import { createBatchStore } from '../../src/stores/answers/batch-store.ts';
import type { ClosableTables } from '../../src/stores/sql-tables.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { openVectorStoreTables } from '../../src/stores/sqlite/stores.ts';
import { tablesIn } from '../../src/stores/sqlite/tables.ts';
import { createVectorStoreRows } from '../../src/stores/vectors/vector-store-rows.ts';
import { countingTurns } from '../turns-of.ts';
import { drivers } from './drivers.ts';

// What these read grows with what is asked for, not with what is stored: counted, not timed.

/** The tables, and the statements that run over them with their values. */
function noting(tables: ClosableTables) {
  const ran: { text: string; values: readonly unknown[] }[] = [];
  const textOf = (sql: Parameters<ClosableTables['rows']>[0]) => (typeof sql === 'string' ? sql : sql.text);
  const noted: ClosableTables = {
    ...tables,
    rows(sql, values) {
      ran.push({ text: textOf(sql), values });
      return tables.rows(sql, values);
    },
    write(steps) {
      ran.push(...steps.map(({ sql, values }) => ({ text: textOf(sql), values })));
      return tables.write(steps);
    },
  };
  /** Steps of SQLite's plans of all that ran. */
  const plans = async () => {
    const steps: string[] = [];
    for (const { text, values } of ran)
      for (const { detail } of await tables.rows(`EXPLAIN QUERY PLAN ${text}`, values)) steps.push(String(detail));
    return steps;
  };
  return { noted, ran, plans };
}

for (const driver of drivers) {
  test(`${driver.name}: a filter of the audit log that matches next to nothing leaves others their turns`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const tables = await store.tables();
    const fill = `INSERT INTO ${tables.prefix}audit (at_ms, actor, action, subject)
      WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 45000)
      SELECT at, CASE WHEN at IN (7, 30000) THEN 'eve' ELSE 'cli' END, 'key.create', 'k' FROM n`;
    await tables.write([{ sql: fill, values: [] }]);
    const { noted, ran } = noting(tables);
    const accounts = createAccountStore({ ...noted, quick: noted, keys: noted });
    const query = { limit: 5, before: null, actor: 'eve' };
    const { result: found, turns } = await countingTurns(() => accounts.audit(query));
    assert.deepEqual(
      found.map(({ atMs }) => atMs),
      [30_000, 7],
    );
    const pages = ran.filter(({ values }) => values.length > 0);
    assert.equal(pages.length, 3, 'three slices of 20,000 rows');
    assert.ok(turns >= 2, 'a turn between any two');
    const second = await accounts.audit({ limit: 1, before: found[0]!.id, actor: 'eve' });
    assert.deepEqual(
      second.map(({ atMs }) => atMs),
      [7],
    );
    assert.equal((await accounts.audit({ limit: 50, before: null })).length, 50);
    await accounts.close();
  });
}

const [sqlite] = drivers;

test('sqlite: a lease of files of vector stores walks over the tenants, and not over all that wait', async (t) => {
  const store = await sqlite!.create();
  t.after(() => store.remove());
  const { noted, plans } = noting(
    openVectorStoreTables({ file: join(store.place, 'vector-stores.db'), onTrouble: () => {} }),
  );
  const rows = createVectorStoreRows(noted);
  const waiting = ['a', 'b'].map((id) => ({
    ...{ id, store: 'vs', tenant: 't', keyId: 'k', file: id, batch: null, createdMs: 1, facts: Buffer.from('') },
  }));
  await rows.attach(waiting, null, { filesMax: 10, waitingMax: 10 });
  assert.equal((await rows.lease('w', 100, 200, 1)).length, 1);
  const steps = await plans();
  assert.ok(steps.some((step) => step.includes('vector_store_file_leased')));
  // The look for any free one, and the first of the walk: each ends at the first that it finds.
  const scans = steps.filter((step) => step.startsWith('SCAN vector_store_file'));
  assert.deepEqual(scans, Array(2).fill('SCAN vector_store_file USING COVERING INDEX vector_store_file_open'));
  await rows.close();
});

test('sqlite: upkeep of files and batches looks for its rows by indexes', async (t) => {
  const store = await sqlite!.create();
  t.after(() => store.remove());
  await (await store.batches()).close();
  const database = openDatabase(join(store.place, 'batches.db'), 'checkpoint', 0);
  const { noted, plans } = noting({ ...tablesIn(database), close: async () => database.close() });
  const batches = createBatchStore(noted);
  await batches.expiredFiles(100, 50, 10);
  await batches.removeLines(10);
  await batches.removeExpired(100);
  const steps = await plans();
  assert.ok(steps.some((step) => step.includes('stored_file_unfinished')));
  for (const step of steps) assert.doesNotMatch(step, /^SCAN (stored_file|batch|line)(?!.* USING .*batch_with_lines)/);
  await batches.close();
});

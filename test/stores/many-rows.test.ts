import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAccountStore } from '../../src/stores/accounts/account-store.ts';
import { createBatchStore } from '../../src/stores/answers/batch-store.ts';
import { createBodyStore } from '../../src/stores/answers/body-store.ts';
import { createResponseStore } from '../../src/stores/answers/response-store.ts';
import { type ClosableTables, shortWords, type Work } from '../../src/stores/sql-tables.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { pruneRecordOrder } from '../../src/stores/sqlite/ledger-upkeep.ts';
import { recordOrderSql } from '../../src/stores/sqlite/record-order.ts';
import { openVectorStoreTables } from '../../src/stores/sqlite/stores.ts';
import { tablesIn } from '../../src/stores/sqlite/tables.ts';
import { createVectorStoreRows } from '../../src/stores/vectors/vector-store-rows.ts';
import { countingTurns } from '../turns-of.ts';
import { drivers } from './drivers.ts';

// What these read grows with what is asked for, not with what is stored: counted, not timed.

/** The tables, and the statements that run over them with their values. */
function noting(tables: ClosableTables) {
  const ran: { text: string; values: readonly unknown[]; found?: number }[] = [];
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
    transaction: (kind, work) => tables.transaction(kind, () => notedWork(work())),
  };
  Object.assign(noted, shortWords(noted));
  function* notedWork<T>(work: Work<T>): Work<T> {
    for (let step = work.next(); ; ) {
      if (step.done === true) return step.value;
      const answer = yield step.value;
      ran.push({ text: textOf(step.value.sql), values: step.value.values, found: answer.rows.length });
      step = work.next(answer);
    }
  }
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

  test(`${driver.name}: kept bodies are filtered and removed in many turns of the loop`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    await (await store.bodies()).close();
    const tables = await store.tables('bodies.db');
    const columns = 'request_id, at_ms, account, key_id, model, path, status, bytes, sealed';
    const fill = `INSERT INTO ${tables.prefix}kept_body (${columns})
      WITH RECURSIVE n (at) AS (SELECT 10001 UNION ALL SELECT at + 1 FROM n WHERE at < 22000)
      SELECT 'req_' || at, at, 'dev', 'k', CASE WHEN at IN (10007, 21000) THEN 'rare' END, '/', 200, 10, $1 FROM n`;
    await tables.write([{ sql: fill, values: [Buffer.from('sealed')] }]);
    const changes: number[] = [];
    const write: ClosableTables['write'] = async (steps) => {
      const changed = await tables.write(steps);
      changes.push(...changed);
      return changed;
    };
    const bodies = createBodyStore({ ...tables, write, ...shortWords({ ...tables, write }) });
    const rare = { accounts: null, model: 'rare' };
    const found = await countingTurns(() => bodies.list({ ...rare, before: null, limit: 5 }));
    assert.deepEqual(
      found.result.map(({ requestId }) => requestId),
      ['req_21000', 'req_10007'],
    );
    const signatures = await countingTurns(() => bodies.signatures({ ...rare, before: 'req_21000', limit: 5 }));
    assert.deepEqual(signatures.result, [{ requestId: 'req_10007', sealed: null }]);
    for (const { turns } of [found, signatures]) assert.ok(turns >= 2, `${turns} turns`);

    const removed = await countingTurns(() => bodies.remove(rare));
    assert.equal(removed.result, 2);
    // Those of before 12,001, and all but the newest 900 of the others.
    const swept = await countingTurns(() => bodies.sweep(12_001, 9_000));
    assert.equal(swept.result, 11_998 - 900);
    for (const { turns } of [removed, swept]) assert.ok(turns >= 40, `${turns} turns`);
    assert.ok(Math.max(...changes) <= 50, `${Math.max(...changes)} rows in a transaction`);
    const [oldest] = await tables.rows(`SELECT min(at_ms) AS at FROM ${tables.prefix}kept_body`, []);
    assert.equal(Number(oldest?.at), 21_101);
    await bodies.close();
  });

  test(`${driver.name}: what a conversation of thousands of items costs`, { skip: driver.skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    await (await store.responses('boot-1')).close();
    const tables = await store.tables('responses.db');
    const { noted, ran } = noting(tables);
    const rows = createResponseStore({ ...noted, bootIsOver: () => 'FALSE' });
    const about = { tenant: 't', id: 'conv', createdMs: 1, expiresMs: 100, metadata: Buffer.from('{}') };
    const items = Array.from({ length: 1_200 }, (_, at) => ({ id: `msg_${at}`, item: Buffer.from(`${at}`) }));
    await rows.putConversation(about, items);
    assert.equal(await rows.addItems('t', 'conv', items.slice(0, 300), 100), true);
    const looks = ran.filter(({ text }) => text.includes('max(seq)'));
    assert.equal(looks.length, 2, 'the last place is looked up once for all items of a call');
    const adds = ran.filter(({ text }) => text.includes('conversation_item (tenant'));
    assert.equal(adds.length, 15, 'statements of a hundred items');

    const changes: number[] = [];
    const write: ClosableTables['write'] = async (steps) => {
      const changed = await tables.write(steps);
      changes.push(...changed);
      return changed;
    };
    const bootIsOver = () => 'FALSE';
    const sweeping = createResponseStore({ ...tables, write, ...shortWords({ ...tables, write }), bootIsOver });
    const all = { tenant: 't', conversation: 'conv', order: 'asc', after: null, limit: 2_000, id: null } as const;
    assert.equal((await sweeping.items(all)).length, 1_200);
    const { result: removed, turns } = await countingTurns(() => sweeping.removeConversation('t', 'conv'));
    assert.equal(removed, true);
    assert.equal((await sweeping.items(all)).length, 0);
    assert.ok(turns >= 3, `${turns} turns`);
    assert.ok(Math.max(...changes) <= 500, `${changes} rows changed by the statements`);
    assert.equal(await sweeping.addItems('t', 'conv', items, 100), false);
    await sweeping.close();
  });
}

const [sqlite] = drivers;

test('sqlite: records that a sink never got are removed a few in each transaction', async (t) => {
  const store = await sqlite!.create();
  t.after(() => store.remove());
  const database = openDatabase(join(store.place, 'records.db'), 'checkpoint', 0);
  database.exec(recordOrderSql);
  database.exec(`INSERT INTO record_order (event) WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n
    WHERE at < 3000) SELECT at FROM n`);
  const removed: number[] = [];
  const noted = {
    ...database,
    prepare(sql: string) {
      const statement = database.prepare(sql);
      return {
        run(value: number) {
          const { changes } = statement.run(value);
          removed.push(Number(changes));
          return { changes };
        },
      } as unknown as ReturnType<typeof database.prepare>;
    },
  };
  await pruneRecordOrder(noted, 1_201);
  assert.deepEqual(removed, [500, 500, 200, 0]);
  const { first, rows } = database.prepare('SELECT min(event) AS first, count(*) AS rows FROM record_order').get()!;
  assert.deepEqual([first, rows], [1_201, 1_800]);
  database.close();
});

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

for (const driver of drivers) {
  test(`${driver.name}: 25,000 keys are read by pages, and each has its secrets`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const tables = await store.tables();
    const { prefix } = tables;
    const numbers = 'WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 25000)';
    // Ids in another order than that of their ages.
    const id = `'k' || CAST(at * 7919 % 25000 AS TEXT)`;
    const steps = [
      `INSERT INTO ${prefix}account (id, name, plan, status, created_ms) ${numbers}
        SELECT 'a' || CAST(at AS TEXT), 'A', 'default', 'active', at FROM n`,
      `INSERT INTO ${prefix}api_key (id, account, name, tenant, prefix, kind, created_ms) ${numbers}
        SELECT ${id}, 'a' || CAST(at AS TEXT), 'n', 't', 'p', 'user', at FROM n`,
      `INSERT INTO ${prefix}api_key_secret (hash, key_id, until_ms) ${numbers}
        SELECT 'h' || ${id}, ${id}, NULL FROM n UNION ALL SELECT 'old' || ${id}, ${id}, at FROM n WHERE at % 5 = 0`,
    ];
    await tables.write(steps.map((sql) => ({ sql, values: [] })));
    const { noted, ran } = noting(tables);
    const { accounts, keys } = await createAccountStore({ ...noted, quick: tables, keys: noted }).load();
    assert.ok(Math.max(...ran.map(({ found = 0 }) => found)) < 15_000, JSON.stringify(ran.map(({ found }) => found)));
    assert.equal(new Set(accounts.map(({ id: account }) => account)).size, 25_000);
    assert.equal(keys.length, 25_000);
    for (const [index, key] of keys.entries()) {
      const at = index + 1;
      const lasting = { hash: `h${key.id}`, untilMs: null };
      assert.deepEqual(
        { createdMs: key.createdMs, secrets: key.secrets },
        { createdMs: at, secrets: at % 5 === 0 ? [lasting, { hash: `old${key.id}`, untilMs: at }] : [lasting] },
      );
    }
  });
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { reservationRow, usageEvent } from '../../../test/stores/rows.ts';
import { bucketsOf } from '../../books/metering/counter-scope.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { systemClock } from '../../kernel/clock.ts';
import { type BackupRow, portable } from '../backup-row.ts';
import { laterTables } from '../backup-tables.ts';
import { readBackup, readLaterDatabases, writeBackup } from '../sqlite/backup.ts';
import { laterMigrations } from '../sqlite/culvert-schema.ts';
import { openDataFolder } from '../sqlite/data-folder.ts';
import { migrateWithCopy, openMigrated } from '../sqlite/migrations.ts';
import { openSnapshots } from '../sqlite/snapshots.ts';
import { readPostgresBackup, writePostgresBackup } from './backup.ts';
import { openPostgresLedger } from './ledger.ts';
import { openPostgres, postgresFacts } from './open.ts';
import { createPostgresAccountStore } from './stores.ts';

async function* each(rows: readonly BackupRow[]): AsyncGenerator<BackupRow> {
  yield* rows;
}

async function all(rows: AsyncIterable<BackupRow>): Promise<BackupRow[]> {
  const found: BackupRow[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

test('a backup of PostgreSQL', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  const fresh = async () => {
    const database = await openPostgres(server.newDatabase(), patientPools);
    t.after(database.close);
    return database;
  };
  const ledgerOver = (database: Awaited<ReturnType<typeof fresh>>, bootId: string) =>
    openPostgresLedger({
      database,
      bootId,
      clock: systemClock,
      chargeCrashed: crashedEvent,
      bucketsOf,
      onTrouble: () => {},
    });

  const source = await fresh();
  const accounts = createPostgresAccountStore(source);
  const entry = { atMs: 1, actor: 'cli', action: 'account.create', subject: 'dev', before: null, after: { a: 1 } };
  const account = { id: 'dev', name: 'Dev', plan: 'pro', status: 'active' as const, guards: [], createdMs: 1 };
  await accounts.apply([{ kind: 'create-account', account }], entry);
  const ledger = await ledgerOver(source, 'boot-1');
  const rows = Array.from({ length: 1_200 }, () => reservationRow());
  await Promise.all(rows.map((row) => ledger.open(row)));
  for (const row of rows.slice(0, 1_150)) ledger.close(usageEvent(row));
  await ledger.flush();

  await t.test('is of one instant, while servers write on, and comes back as it was', async () => {
    const reading = readPostgresBackup(source);
    const first = await reading.next();
    assert.ok(first.done !== true);
    for (const row of rows.slice(1_150)) ledger.close(usageEvent(row));
    await ledger.flush();
    const kept = [first.value, ...(await all(reading))];
    const count = (table: string) => kept.filter((row) => row.table === table).length;
    assert.deepEqual([count('account'), count('usage_event'), count('reservation')], [1, 1_150, 50]);

    const target = await fresh();
    assert.equal((await postgresFacts(target.rest, systemClock)).empty, true);
    // Further columns of another driver are left out. Text becomes what PostgreSQL can keep.
    const [head, ...rest] = kept as [BackupRow, ...BackupRow[]];
    const foreign = { ...head, row: { ...head.row, key: 5, name: 'D\0v \ud800' } };
    await writePostgresBackup(target, each([foreign, ...rest]));
    assert.deepEqual((await all(readPostgresBackup(target))).slice(1), rest);
    const restored = createPostgresAccountStore(target);
    assert.equal((await restored.load()).accounts[0]?.name, 'D\uFFFDv \uFFFD');
    const askedMs = performance.now();
    const facts = await postgresFacts(target.rest, systemClock);
    const tookMs = performance.now() - askedMs;
    assert.equal(facts.empty, false);
    assert.match(facts.version, /^PostgreSQL \d+/);
    // Give or take the way there.
    assert.ok(Math.abs(facts.clockAheadMs) <= tookMs + 1, `${facts.clockAheadMs} ms, in ${tookMs} ms`);

    // It goes on where it was: ids of the audit trail, and open requests of a server that is no more.
    await restored.apply([{ kind: 'put-plan', plan: { name: 'p', definition: {}, updatedMs: 2 }, was: null }], entry);
    assert.deepEqual(
      (await restored.audit({ limit: 5, before: null })).map((row) => row.id),
      [2, 1],
    );
    const next = await ledgerOver(target, 'boot-2');
    assert.equal(await next.recover(), 50);
    assert.equal((await next.find(rows[0]!.requestId, 'dev'))?.class, 'ok');
    await next.shutdown();
  });

  await t.test('goes whole into an empty database or not at all', async () => {
    const kept = await all(readPostgresBackup(source));
    await assert.rejects(writePostgresBackup(source, each(kept)), /127\.0\.0\.1:\d+\/culvert_\d+_1 is not empty/);
    const target = await fresh();
    const strange = { table: 'account"; DROP TABLE culvert.plan; --', row: {} };
    await assert.rejects(writePostgresBackup(target, each([...kept, strange])), /does not know/);
    assert.deepEqual(await all(readPostgresBackup(target)), []);
  });

  await t.test('goes to SQLite and back without a difference', async () => {
    const kept = await all(readPostgresBackup(source));
    const dir = mkdtempSync(join(tmpdir(), 'culvert-backup-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    const folder = openDataFolder(dir);
    await writeBackup(folder, each(kept));
    const embedded = await all(readBackup(folder, openSnapshots(folder)));
    const target = await fresh();
    await writePostgresBackup(target, each(embedded));
    assert.deepEqual(await all(readPostgresBackup(target)), kept);
  });

  await t.test('takes every table of a database that requests open later', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'culvert-backup-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    for (const [name, migrations] of Object.entries(laterMigrations)) {
      const file = openMigrated(join(dir, name), 'fsync', (database) => migrateWithCopy(database, migrations));
      for (const { name: table } of file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()) {
        const columns = file.prepare(`PRAGMA table_info(${table})`).all();
        const values = columns.map(({ type }) => (type === 'BLOB' ? "x'00ff'" : type === 'TEXT' ? "'é'" : '1'));
        file.exec(`INSERT INTO ${table} VALUES (${values.join(', ')})`);
      }
      file.close();
    }
    const kept = [...readLaterDatabases(dir)];
    assert.deepEqual(new Set(kept.map(({ table }) => table)), new Set(laterTables));
    const target = await fresh();
    // In the order in which no table refers to a later one.
    await writePostgresBackup(target, each(kept));
    for (const { table, row } of kept) {
      const { rows } = await target.rest.run(`SELECT * FROM culvert.${table}`);
      assert.equal(rows.length, 1, table);
      for (const [column, value] of Object.entries(portable(rows[0]!)))
        assert.equal(value, row[column], `${table}.${column}`);
    }
    const { rows } = await target.rest.run(
      `SELECT key_hash = sha256(convert_to('é', 'UTF8')) AS found FROM culvert.crawl_page`,
    );
    assert.deepEqual(rows, [{ found: true }]);
  });

  await t.test('that is left half-way gives its connection back', async () => {
    for (let round = 0; round < 10; round += 1) {
      for await (const _ of readPostgresBackup(source)) break;
    }
    assert.equal((await all(readPostgresBackup(source))).filter((row) => row.table === 'usage_event').length, 1_200);
  });

  await ledger.shutdown();
});

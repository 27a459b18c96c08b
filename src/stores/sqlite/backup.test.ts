// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { reservationRow, usageEvent } from '../../../test/stores/rows.ts';
import { bucketsOf } from '../../books/metering/counter-scope.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createNoticeStore } from '../answers/notice-store.ts';
import { type BackupRow, RestoreRefused } from '../backup-row.ts';
import { accountTables } from '../backup-tables.ts';
import { readBackup, writeBackup } from './backup.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { openSqliteLedger } from './ledger.ts';
import { openSnapshots } from './snapshots.ts';
import { openCulvertTables, openSqliteAccountStore } from './stores.ts';

function place(t: TestContext): DataFolder {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-backup-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return openDataFolder(dir);
}

function ledgerIn(folder: DataFolder, bootId: string) {
  return openSqliteLedger({
    file: folder.ledgerDb,
    bootId,
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: () => {},
  });
}

async function all(rows: AsyncIterable<BackupRow>): Promise<BackupRow[]> {
  const found: BackupRow[] = [];
  // As from a file: JSON and back.
  for await (const row of rows) found.push(JSON.parse(JSON.stringify(row)) as BackupRow);
  return found;
}

async function* each(rows: readonly BackupRow[]): AsyncGenerator<BackupRow> {
  yield* rows;
}

const account = { id: 'dev', name: 'Dev', plan: 'pro', status: 'active', guards: ['pii'], createdMs: 1 } as const;
const entry = { atMs: 1, actor: 'cli', action: 'account.create', subject: 'dev', before: null, after: { a: 1 } };
const key = {
  id: 'k1',
  account: 'dev',
  name: 'laptop',
  tenant: 'dev/laptop',
  prefix: 'sk-cv-k1',
  secrets: [{ hash: 'h1', untilMs: null }],
  kind: 'user',
  expiresMs: null,
  models: ['a*'],
  ips: null,
  limits: { rpm: 3 },
  guards: [],
  createdMs: 2,
  revokedMs: null,
} as const;

/** Logins, alerts and notices of the running server, its schema's version, and whose bodies are kept for a time. */
const leftOut = [
  'alert',
  'body_rule',
  'ended_notice',
  'login_token',
  'mcp_login',
  'notice',
  'picture',
  'row_change',
  'session',
  'store_version',
  'used_assertion',
];

/** A folder in use: accounts, settled requests, two of them of one instant, and one that runs. */
async function filled(t: TestContext) {
  const folder = place(t);
  const accounts = openSqliteAccountStore(folder.culvertDb);
  const plan = { name: 'pro', definition: { rpm: 1 }, updatedMs: 3 };
  await accounts.apply(
    [
      { kind: 'create-account', account },
      { kind: 'create-key', key },
      { kind: 'put-plan', plan, was: null },
    ],
    entry,
  );
  const notices = createNoticeStore(openCulvertTables(folder.culvertDb));
  const notice = { id: 'msg_1', plan: 'pro', body: '{}', createdMs: 1, tries: 0 };
  await notices.cross({ scope: 'a:dev', limit: '5h', share: 0.8, crossedMs: 4 }, notice);
  await notices.close();
  const ledger = ledgerIn(folder, 'boot-1');
  const rows = [
    ...Array.from({ length: 40 }, () => reservationRow({ tier: 'large' })),
    ...['1', '2'].map((end) => reservationRow({ requestId: `req_0197b2f3-1111-7abc-8def-00000000000${end}` })),
  ];
  await Promise.all(rows.map((row) => ledger.open(row)));
  for (const row of rows.slice(1)) ledger.close(usageEvent(row));
  await ledger.flush();
  return { folder, accounts, ledger, rows };
}

test('a backup of a running folder, restored into an empty one, holds the same accounts, requests, windows and sums', async (t) => {
  const { folder, accounts, ledger, rows } = await filled(t);
  const stored = await accounts.load();
  const backup = await all(readBackup(folder, openSnapshots(folder)));
  const there = place(t);
  await writeBackup(there, each(backup));
  assert.ok(!existsSync(`${there.ledgerDb}-wal`) && !existsSync(`${there.culvertDb}-wal`), 'the files are complete');
  const accountsThere = openSqliteAccountStore(there.culvertDb);
  assert.deepEqual(await accountsThere.load(), stored);
  assert.deepEqual(
    await accountsThere.audit({ limit: 9, before: null }),
    await accounts.audit({ limit: 9, before: null }),
  );
  const ledgerThere = ledgerIn(there, 'boot-2');
  for (const row of rows.slice(1)) {
    assert.deepEqual(await ledgerThere.find(row.requestId, 'dev'), await ledger.find(row.requestId, 'dev'));
  }
  const scopes = ['a:dev', 'k:dev/laptop', 'a:dev#large'];
  assert.deepEqual(ledgerThere.buckets(scopes), ledger.buckets(scopes));
  const usage = { accounts: null, where: {}, groupBy: 'provider', splitBy: null, fromMs: 0, toMs: Date.now() } as const;
  assert.deepEqual(await ledgerThere.usage(usage), await ledger.usage(usage));
  // A request that ran at that instant is charged there as crashed, once.
  assert.equal(await ledgerThere.recover(), 1);
  assert.equal((await ledgerThere.find(rows[0]!.requestId, 'dev'))?.class, 'crashed');
  await ledgerThere.shutdown();
  await accountsThere.close();
  // Reported alerts stay reported; two servers do not both post a pending notice.
  const tables = new Set(backup.map(({ table }) => table));
  assert.ok(tables.has('crossing') && !tables.has('notice') && !tables.has('reply') && !tables.has('boot'));
  await ledger.shutdown();
  await accounts.close();
});

test('a backup has every table of accounts, but for those that only the running server needs', async (t) => {
  const { folder, ledger, accounts } = await filled(t);
  const database = new DatabaseSync(folder.culvertDb, { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => String(name));
  database.close();
  const kept = new Set(accountTables.map(({ name }) => name));
  assert.deepEqual(tables.filter((name) => !kept.has(name)).sort(), leftOut);
  await ledger.shutdown();
  await accounts.close();
});

test('rows of another driver are taken without its own columns, and order or keys of ours', async (t) => {
  const { folder, ledger, accounts, rows } = await filled(t);
  const foreign = (await all(readBackup(folder, openSnapshots(folder)))).map(({ table, row }) => ({
    table,
    row: { ...row, theirs: 1, key: 5 },
  }));
  const there = place(t);
  await writeBackup(there, each(foreign));
  const ledgerThere = ledgerIn(there, 'boot-2');
  for (const row of rows.slice(1)) assert.ok((await ledgerThere.find(row.requestId, 'dev')) !== null);
  await ledgerThere.shutdown();
  await ledger.shutdown();
  await accounts.close();
});

test('a restore that cannot be leaves a folder as it was', async (t) => {
  const { folder, ledger, accounts, rows } = await filled(t);
  const backup = await all(readBackup(folder, openSnapshots(folder)));
  await assert.rejects(writeBackup(folder, each(backup)), /is not empty\. Restore into a new data folder/);
  assert.ok((await ledger.find(rows[1]!.requestId, 'dev')) !== null);
  const bad: BackupRow[] = [
    { table: 'sqlite_master', row: { name: 'x' } },
    { table: 'usage_event', row: { request_id: "x'; DROP TABLE usage_event" } },
    { table: 'account', row: { id: { no: 'object' } } },
    { table: 'account', row: { id: 'only' } },
    { table: 'api_key_secret', row: { hash: 'h', key_id: 'nobody', until_ms: null } },
  ];
  for (const row of bad) {
    const there = place(t);
    await assert.rejects(
      writeBackup(there, each([...backup, row])),
      row.table === 'sqlite_master' ? RestoreRefused : Error,
    );
    assert.ok(!existsSync(there.culvertDb) && !existsSync(there.ledgerDb), JSON.stringify(row));
  }
  await ledger.shutdown();
  await accounts.close();
});

test('a backup of a folder without databases is empty, and makes none', async (t) => {
  const folder = place(t);
  assert.deepEqual(await all(readBackup(folder, openSnapshots(folder))), []);
  assert.ok(!existsSync(folder.culvertDb) && !existsSync(folder.ledgerDb));
});

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bucketsOf } from '../../books/metering/counter-scope.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import { systemClock } from '../../kernel/clock.ts';
import { newRequestId } from '../../kernel/ids.ts';
import { culvertMigrations } from './culvert-schema.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { openDatabase } from './database.ts';
import { openSqliteLedger } from './ledger.ts';
import { ledgerMigrations } from './ledger-schema.ts';
import { ledgerKey } from './ledger-writer.ts';
import { migrate } from './migrations.ts';
import { migrateDataFolder, pendingMigrations } from './sqlite-facts.ts';
import { openSqliteAccountStore } from './stores.ts';

function place(t: TestContext): DataFolder {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-upgrade-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return openDataFolder(dir);
}

/** A folder as the first version left it. */
function firstVersion(t: TestContext): DataFolder {
  const folder = place(t);
  for (const [file, migrations] of [
    [folder.culvertDb, culvertMigrations],
    [folder.ledgerDb, ledgerMigrations],
  ] as const) {
    const database = openDatabase(file, 'fsync', 250);
    migrate(database, migrations.slice(0, 1));
    database.close();
  }
  return folder;
}

test('keys of the first version keep their secret, tenant and name through the upgrade', async (t) => {
  const folder = firstVersion(t);
  const old = openDatabase(folder.culvertDb, 'fsync', 250);
  old.exec(`
    INSERT INTO account VALUES ('dev', 'Dev', 'pro', 'active', 1);
    INSERT INTO api_key VALUES ('id1', 'dev', 'laptop', 'sk-cv-id1', 'hash1', 'user', NULL, '["small"]', 2, NULL);
    INSERT INTO api_key VALUES ('id2', 'dev', 'laptop', 'sk-cv-id2', 'hash2', 'user', 9, NULL, 1, 5);`);
  old.close();
  const accounts = openSqliteAccountStore(folder.culvertDb);
  const { keys } = await accounts.load();
  const common = {
    account: 'dev',
    name: 'laptop',
    tenant: 'dev/laptop',
    kind: 'user',
    ips: null,
    limits: null,
    guards: [],
  };
  assert.deepEqual(keys, [
    {
      ...common,
      id: 'id2',
      prefix: 'sk-cv-id2',
      secrets: [{ hash: 'hash2', untilMs: null }],
      expiresMs: 9,
      models: null,
      createdMs: 1,
      revokedMs: 5,
    },
    {
      ...common,
      id: 'id1',
      prefix: 'sk-cv-id1',
      secrets: [{ hash: 'hash1', untilMs: null }],
      expiresMs: null,
      models: ['small'],
      createdMs: 2,
      revokedMs: null,
    },
  ]);
  const entry = { atMs: 1, actor: 'cli', action: 'a', subject: 's', before: null, after: null };
  // The constraints came along.
  const again = { ...keys[1]!, id: 'id3', secrets: [{ hash: 'hash3', untilMs: null }] };
  assert.equal(await accounts.apply([{ kind: 'create-key', key: again }], entry), 'exists');
  const nowhere = { ...again, account: 'nobody' };
  assert.equal(await accounts.apply([{ kind: 'create-key', key: nowhere }], entry), 'absent');
  await accounts.close();
});

test('requests of the first version keep their attempts, and fill buckets and roll-ups', async (t) => {
  const folder = firstVersion(t);
  const old = openDatabase(folder.ledgerDb, 'fsync', 250);
  const atMs = Date.now() - 60_000;
  const id = newRequestId(atMs);
  const key = ledgerKey(id)!;
  old
    .prepare(
      `INSERT INTO usage_event VALUES (?, ?, NULL, ?, 'dev', 'k', 'dev/k', 'chat', 'smart', 'openai/gpt-x', 200, 'ok', 1, 0,
       12, 3, 100, 50, 0, 0, 0, 0, 0, 1000, 0.25, 'upstream', NULL, '{"alias":"smart"}')`,
    )
    .run(key, id, atMs);
  const counted = newRequestId(atMs);
  old
    .prepare(
      `INSERT INTO usage_event VALUES (?, ?, NULL, ?, 'dev', 'k', 'dev/k', 'chat', 'smart', 'openai/gpt-x', 200, 'ok', 1, 0,
       12, 3, 20, 10, 0, 0, 0, 0, 0, 1000, 0.5, 'counted', NULL, '{"alias":"smart"}')`,
    )
    .run(ledgerKey(counted)!, counted, atMs);
  const unpriced = newRequestId(atMs);
  old
    .prepare(
      `INSERT INTO usage_event VALUES (?, ?, NULL, ?, 'dev', 'k', 'dev/k', 'chat', 'smart', 'openai/gpt-x', 200, 'ok', 1, 0,
       12, 3, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 'upstream', NULL, '{"alias":"smart"}')`,
    )
    .run(ledgerKey(unpriced)!, unpriced, atMs);
  const attempt = old.prepare('INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, 5, NULL, 9, ?, ?, ?, ?, ?, NULL)');
  attempt.run(
    key,
    2,
    'openai/gpt-x',
    'openai#0',
    'ok',
    200,
    100,
    50,
    '{"inputTokens":100,"cachedInputTokens":7}',
    'upstream',
    0.25,
  );
  attempt.run(key, 1, 'claude/c', 'claude#0', 'transient', 503, null, null, null, 'none', null);
  const open = newRequestId(atMs);
  old
    .prepare(`INSERT INTO reservation VALUES (?, ?, 'dead', ?, 'dev', 'k', 'dev/k', 'chat', 'smart', 2000, 7)`)
    .run(ledgerKey(open)!, open, atMs);
  old.close();
  const ledger = openSqliteLedger({
    file: folder.ledgerDb,
    bootId: 'boot',
    clock: systemClock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    onTrouble: () => {},
  });
  assert.equal(await ledger.recover(), 1);
  const event = await ledger.find(id, 'dev');
  assert.deepEqual([event?.tier, event?.quotaMs, event?.settledMs], [null, atMs, atMs + 12]);
  assert.deepEqual(
    event?.route.attempts.map(({ target, status, startMs, usage }) => ({ target, status, startMs, usage })),
    [
      { target: 'claude/c', status: 503, startMs: null, usage: null },
      {
        target: 'openai/gpt-x',
        status: 200,
        startMs: null,
        usage: { inputTokens: 100, cachedInputTokens: 7 },
      },
    ],
  );
  const hours = (await ledger.buckets(['k:dev/k'])).filter((row) => row.grainMs === 3_600_000);
  const { units, tokens, usdNano } = hours[0]!;
  assert.deepEqual([hours.length, units, tokens, usdNano], [1, 4_000, 187, 750_000_000]);
  const usage = await ledger.usage({
    accounts: ['dev'],
    where: {},
    groupBy: 'provider',
    splitBy: null,
    fromMs: atMs,
    toMs: atMs + 1,
  });
  assert.deepEqual(
    usage.map((row) => [row.group, row.requests, row.milliUnits, row.errors]),
    [
      ['', 1, 2_000, 1],
      ['openai', 3, 2_000, 0],
    ],
  );
  assert.deepEqual(
    usage.map((row) => row.unpriced),
    [0, 1],
  );
  const traffic = { kind: 'model', names: ['smart'], grain: 'hour', stepMs: 3_600_000 } as const;
  const hourMs = Math.floor(atMs / 3_600_000) * 3_600_000;
  const points = await ledger.traffic({ ...traffic, fromMs: hourMs, toMs: hourMs + 3_600_000 });
  assert.equal(points[0]?.unpriced, 1);
  assert.deepEqual(
    usage.map((row) => [row.countedTokens, row.estimatedTokens, row.countedCostUsd, row.estimatedCostUsd]),
    [
      [0, 7, 0, 0],
      [30, 0, 0.5, 0],
    ],
  );
  await ledger.shutdown();
});

test('what a start would do to the schema is told without touching anything', (t) => {
  const folder = place(t);
  const all = {
    culvert: culvertMigrations.map((step) => step.name),
    ledger: ledgerMigrations.map((step) => step.name),
  };
  assert.deepEqual(pendingMigrations(folder, []), [
    { database: 'culvert.db', current: 0, pending: all.culvert },
    { database: 'ledger.db', current: 0, pending: all.ledger },
  ]);
  assert.ok(!existsSync(folder.culvertDb) && !existsSync(folder.ledgerDb));
  const older = firstVersion(t);
  const behind = [
    { database: 'culvert.db', current: 1, pending: all.culvert.slice(1) },
    { database: 'ledger.db', current: 1, pending: all.ledger.slice(1) },
  ];
  assert.deepEqual(pendingMigrations(older, []), behind);
  assert.deepEqual(pendingMigrations(older, []), behind);
  migrateDataFolder(older, []);
  assert.deepEqual(
    pendingMigrations(older, []).map(({ pending }) => pending),
    [[], []],
  );
});

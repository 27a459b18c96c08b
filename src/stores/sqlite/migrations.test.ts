import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Migration } from '../migration.ts';
import { culvertMigrations } from './culvert-schema.ts';
import { openDatabase } from './database.ts';
import { ledgerMigrations } from './ledger-schema.ts';
import { migrate, migrationState } from './migrations.ts';

const steps: readonly Migration[] = [
  { version: 1, name: 'one', sql: 'CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (1);' },
  { version: 2, name: 'two', sql: 'INSERT INTO t VALUES (2);' },
];

function fresh(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-migrations-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'x.db');
}

test('steps are taken in order, once', (t) => {
  const database = openDatabase(fresh(t), 'fsync', 250);
  assert.deepEqual(migrate(database, steps.slice(0, 1)), ['one']);
  assert.deepEqual(
    migrationState(database, steps).pending.map((step) => step.name),
    ['two'],
  );
  assert.deepEqual(migrate(database, steps), ['two']);
  assert.deepEqual(migrate(database, steps), []);
  assert.equal(database.prepare('SELECT sum(a) AS sum FROM t').get()?.sum, 3);
  database.close();
});

test('a step that fails leaves the file as it was', (t) => {
  const database = openDatabase(fresh(t), 'fsync', 250);
  const broken = [
    ...steps,
    { version: 3, name: 'three', sql: 'INSERT INTO t VALUES (3); INSERT INTO nowhere VALUES (1);' },
  ];
  assert.throws(() => migrate(database, broken), /nowhere/);
  assert.equal(migrationState(database, steps).current, 0);
  assert.deepEqual(migrate(database, steps), ['one', 'two']);
  database.close();
});

test('a file of a newer Culvert is refused in words', (t) => {
  const database = openDatabase(fresh(t), 'fsync', 250);
  migrate(database, steps);
  assert.throws(() => migrate(database, steps.slice(0, 1)), /newer Culvert \(schema 2, this one knows 1\)/);
  database.close();
});

test('six that start at once migrate once', async (t) => {
  const file = fresh(t);
  const here = import.meta.url;
  const code = `
    const { openDatabase } = await import(new URL('./database.ts', ${JSON.stringify(here)}).href);
    const { migrate } = await import(new URL('./migrations.ts', ${JSON.stringify(here)}).href);
    const { parentPort } = await import('node:worker_threads');
    const database = openDatabase(${JSON.stringify(file)}, 'fsync', 5000);
    parentPort.postMessage(migrate(database, ${JSON.stringify(steps)}));
    database.close();`;
  const started = Array.from({ length: 6 }, () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    return new Promise<string[]>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  });
  const taken = await Promise.all(started);
  assert.deepEqual(taken.flat().toSorted(), ['one', 'two']);
});

for (const [name, migrations] of Object.entries({ culvert: culvertMigrations, ledger: ledgerMigrations })) {
  test(`${name}.db: versions are 1, 2, 3 … without gaps`, () => {
    assert.deepEqual(
      migrations.map((step) => step.version),
      migrations.map((_, at) => at + 1),
    );
  });
}

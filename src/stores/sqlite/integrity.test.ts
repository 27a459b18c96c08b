import assert from 'node:assert/strict';
import { mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { isSmallDatabase } from './database.ts';
import { lookForDamage } from './integrity.ts';
import { createStorageSizes } from './storage-sizes.ts';

function place(t: TestContext): DataFolder {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-integrity-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return openDataFolder(dir);
}

/** A table of replies with so many bytes of one account. */
function databaseOf(file: string, bytes: number): void {
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE reply (scope TEXT, sealed BLOB)');
  database.exec('CREATE TABLE picture (account TEXT, bytes INTEGER, until_ms INTEGER)');
  database.prepare('INSERT INTO reply VALUES (?, ?)').run('chat:acme/key', new Uint8Array(bytes).fill(7));
  database.close();
}

/** Overwrites the head of its second page. */
function damage(file: string): void {
  writeSync(openSync(file, 'r+'), Buffer.alloc(64, 0x55), 0, 64, 4_096);
}

const sizes = { small: 1_000, large: 2_000_000 };

for (const [size, bytes] of Object.entries(sizes)) {
  test(`a ${size} ledger that is damaged is noticed soon after a start, a sound database is not`, async (t) => {
    const folder = place(t);
    databaseOf(folder.ledgerDb, bytes);
    databaseOf(folder.culvertDb, bytes);
    assert.equal(isSmallDatabase(folder.ledgerDb), size === 'small');
    damage(folder.ledgerDb);
    const notices: string[] = [];
    const look = lookForDamage({ folder, notify: (message) => notices.push(message) });
    t.after(() => look.stop());
    while (look.trouble === null) await pause(20);
    assert.equal(look.trouble, 'its ledger is damaged on the disk');
    assert.match(notices.join('\n'), /^.*ledger\.db is damaged on the disk[^\n]*$/);
  });

  test(`sizes of accounts are read from ${size} databases`, async (t) => {
    const folder = place(t);
    databaseOf(folder.culvertDb, bytes);
    const storage = createStorageSizes(folder.path);
    t.after(() => storage.close());
    assert.deepEqual(await storage.read(0), [{ account: 'acme', kind: 'replies', bytes }]);
  });
}

test('the log of a database counts as much as its file', (t) => {
  const { ledgerDb } = place(t);
  databaseOf(ledgerDb, 1_000);
  const database = new DatabaseSync(ledgerDb);
  t.after(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0');
  database.prepare('INSERT INTO reply VALUES (?, ?)').run('chat:acme/key', new Uint8Array(1_000_000));
  assert.ok(statSync(ledgerDb).size < 512 * 1024);
  assert.equal(isSmallDatabase(ledgerDb), false);
});

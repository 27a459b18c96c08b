import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { replaceData } from '../../src/cli/replace-data.ts';
import { dataFolderAt } from '../../src/stores/sqlite/data-folder.ts';
import { temporaryFolder } from '../start-process.ts';

const now = new Date('2026-11-20T10:00:00.000Z');
const stamp = '2026-11-20T10-00-00-000Z';

function folderWith(path: string, files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
}

function contents(path: string): Record<string, string> {
  return Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));
}

test('restored databases take the place of the old ones, which are kept with their logs', async (t) => {
  const path = temporaryFolder(t);
  folderWith(path, { 'culvert.db': 'old', 'culvert.db-wal': 'old log', 'culvert.db-shm': 'x', 'admin.key': 'k' });
  const kept = await replaceData(dataFolderAt(path), ['culvert.db', 'ledger.db'], now, async (side) =>
    folderWith(side, { 'culvert.db': 'new', 'ledger.db': 'new books', 'ledger.db-wal': 'new log' }),
  );
  assert.deepEqual(kept, [join(path, `culvert.db.before-restore-${stamp}`)]);
  assert.deepEqual(contents(path), {
    'admin.key': 'k',
    'culvert.db': 'new',
    [`culvert.db.before-restore-${stamp}`]: 'old',
    [`culvert.db.before-restore-${stamp}-wal`]: 'old log',
    'ledger.db': 'new books',
    'ledger.db-wal': 'new log',
  });
});

test('a restore that fails while it writes, or while it moves, leaves the folder as it was', async (t) => {
  const path = temporaryFolder(t);
  const files = { 'culvert.db': 'old', 'culvert.db-wal': 'log', 'ledger.db': 'books' };
  folderWith(path, files);
  await assert.rejects(
    replaceData(dataFolderAt(path), ['culvert.db', 'ledger.db'], now, async (side) => {
      folderWith(side, { 'culvert.db': 'half' });
      throw new Error('disk full');
    }),
    /disk full/,
  );
  assert.deepEqual(contents(path), files);

  // A folder in the way of the second file that is put in place.
  await assert.rejects(
    replaceData(dataFolderAt(path), ['culvert.db', 'ledger.db'], now, async (side) => {
      folderWith(side, { 'culvert.db': 'new', 'ledger.db': 'new' });
      const { mkdirSync } = await import('node:fs');
      mkdirSync(join(path, `ledger.db.before-restore-${stamp}`));
    }),
  );
  const { [`ledger.db.before-restore-${stamp}`]: _inTheWay, ...left } = Object.fromEntries(
    readdirSync(path).map((name) => [name, name.includes('before') ? '' : readFileSync(join(path, name), 'utf8')]),
  );
  assert.deepEqual(left, files);
});

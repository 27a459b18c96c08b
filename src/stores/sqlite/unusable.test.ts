import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { whyUnusable } from './data-folder.ts';
import { openDatabase } from './database.ts';
import { migrate } from './migrations.ts';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: 'nothing was thrown' });
}

test('what is wrong with the data folder is a sentence with the file; what is wrong with us keeps its stack', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-unusable-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const foreign = join(dir, 'foreign.db');
  writeFileSync(foreign, 'no database, '.repeat(400));
  assert.match(
    whyUnusable(thrownBy(() => openDatabase(foreign, 'fsync', 0)))!,
    /foreign\.db: file is not a database\. Repair/,
  );

  const database = openDatabase(join(dir, 'newer.db'), 'fsync', 0);
  t.after(() => database.close());
  database.exec('PRAGMA user_version = 9');
  assert.match(whyUnusable(thrownBy(() => migrate(database, [])))!, /newer\.db was written by a newer Culvert .*\.$/);
  assert.equal(whyUnusable(thrownBy(() => database.exec('SELECT nothing FROM nowhere'))), null);
  assert.equal(whyUnusable(new TypeError('x is undefined')), null);
});

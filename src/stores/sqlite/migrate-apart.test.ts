import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fillDisk, mountSmallDisk } from '../../../test/faults/small-disk.ts';
import { countingTurns } from '../../../test/turns-of.ts';
import { FailureError, failureStatus } from '../../kernel/failure.ts';
import { copyBeforeSchema } from '../../kernel/sqlite/schema-copy.ts';
import { batchMigrations } from './culvert-schema.ts';
import { openDatabase } from './database.ts';
import { migrate, stateOfFile } from './migrations.ts';
import { openedApart, openSqliteBatchStore } from './stores.ts';

test('a large database of an earlier version is copied and upgraded while others have their turns', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-apart-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'batches.db');
  const old = openDatabase(file, 'fsync', 250);
  migrate(old, batchMigrations.slice(0, 1));
  old.exec(`INSERT INTO file_chunk VALUES ('file-1', 0, zeroblob(2000000))`);
  old.close();
  let turnsUntilOpened = 0;
  const onTrouble = (message: string) => assert.fail(message);
  const { result: store } = await countingTurns((turns) =>
    openedApart({ file, onTrouble }, (options) => {
      turnsUntilOpened = turns();
      assert.deepEqual(stateOfFile(file, batchMigrations).pending, [], 'it is up to date before it is opened');
      return openSqliteBatchStore(options);
    })(),
  );
  assert.ok(turnsUntilOpened > 10, `${turnsUntilOpened} turns`);
  assert.ok(existsSync(copyBeforeSchema(file, 1)), 'with a copy for the earlier version');
  assert.equal((await store.chunk('file-1', 0))?.length, 2_000_000);
  await store.close();
});

test('a database that is made on a disk that takes nothing is refused for now, without its path', async (t) => {
  const disk = mountSmallDisk(t, 2);
  if (disk === null) return t.skip('no small disk can be mounted here');
  const open = openedApart({ file: join(disk, 'batches.db'), onTrouble: () => undefined }, openSqliteBatchStore);
  const isRefused = (error: unknown) => {
    assert.ok(error instanceof FailureError, String(error));
    assert.equal(failureStatus[error.failure.kind], 503);
    assert.doesNotMatch(error.message, /batches/);
    return true;
  };
  assert.equal(spawnSync('mount', ['-o', 'remount,ro', disk]).status, 0);
  await assert.rejects(open(), isRefused);
  assert.equal(spawnSync('mount', ['-o', 'remount,rw', disk]).status, 0);
  const free = fillDisk(disk);
  await assert.rejects(open(), isRefused);
  free();
  await (await open()).close();
});

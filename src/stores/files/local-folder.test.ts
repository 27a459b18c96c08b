import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { mountSmallDisk } from '../../../test/faults/small-disk.ts';
import { FailureError } from '../../kernel/failure.ts';
import { fileName, isFileName } from '../../kernel/file-store.ts';
import { createLocalFiles } from './local-folder.ts';

function folderFor(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'culvert-files-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  return join(parent, 'files');
}

const nameOf = (letter: string) => fileName(letter.repeat(20), 'png');

async function contentOf(files: ReturnType<typeof createLocalFiles>, name: string): Promise<string | null> {
  const opened = await files.open(name);
  if (opened === null) return null;
  const bytes = Buffer.concat(await opened.content.toArray());
  assert.equal(bytes.length, opened.bytes);
  return bytes.toString();
}

test('a file is read as it was put, by its owner alone, after a restart too', async (t) => {
  const folder = folderFor(t);
  await createLocalFiles(folder).put(nameOf('a'), Buffer.from('one'), 1_000_000);
  assert.equal(await contentOf(createLocalFiles(folder), nameOf('a')), 'one');
  assert.equal(statSync(join(folder, nameOf('a'))).mode & 0o777, 0o600);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(await contentOf(createLocalFiles(folder), nameOf('b')), null);
});

test('a name that is none opens nothing, whatever path it spells', async (t) => {
  const files = createLocalFiles(folderFor(t));
  for (const name of ['../secret', '..', '', 'a/b.png', `${'a'.repeat(20)}.png/../../x`, `${'a'.repeat(20)}\0.png`]) {
    assert.equal(isFileName(name), false);
    assert.equal(await files.open(name), null);
    await assert.rejects(files.put(name, Buffer.from('x'), 0));
  }
});

test('a sweep removes what was put before, also what an earlier process put, and makes no folder of its own', async (t) => {
  const folder = folderFor(t);
  const files = createLocalFiles(folder);
  assert.equal(await files.sweep(10_000), 0);
  assert.throws(() => readdirSync(folder));
  await files.put(nameOf('a'), Buffer.from('old'), 1_000);
  await files.put(nameOf('b'), Buffer.from('new'), 20_000);
  assert.equal(await createLocalFiles(folder).sweep(10_000), 1);
  assert.deepEqual(readdirSync(folder), [nameOf('b')]);
});

test('above its bound the oldest make room', async (t) => {
  const files = createLocalFiles(folderFor(t), 10);
  for (const [at, letter] of ['a', 'b', 'c'].entries()) await files.put(nameOf(letter), Buffer.from('1234'), at);
  assert.equal(await contentOf(files, nameOf('a')), null);
  assert.equal(await contentOf(files, nameOf('b')), '1234');
  assert.equal(await contentOf(files, nameOf('c')), '1234');
});

test('a disk that has become read-only takes no file for now, whether its folder was made or not', async (t) => {
  const disk = mountSmallDisk(t, 2);
  if (disk === null) return t.skip('no small disk can be mounted here');
  const used = createLocalFiles(join(disk, 'used'));
  await used.put(fileName('a'.repeat(16), 'png'), Buffer.alloc(1), 1);
  assert.equal(spawnSync('mount', ['-o', 'remount,ro', disk]).status, 0);
  for (const files of [used, createLocalFiles(join(disk, 'new'))]) {
    const put = files.put(fileName('b'.repeat(16), 'png'), Buffer.alloc(1), 2);
    await assert.rejects(put, (error) => error instanceof FailureError && error.failure.kind === 'overloaded');
  }
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { mountSmallDisk } from '../../test/faults/small-disk.ts';
import { FailureError } from '../kernel/failure.ts';
import { openSpool } from './spool.ts';

const mb = 1024 * 1024;
const pieceBytes = 64 * 1024;

test('a file on its way to the disk and back leaves no more than some MB of spent buffers in memory', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'culvert-test-spool-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const spool = await openSpool(join(folder, 'spool'));
  const file = await spool.place('dev');
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const look = () => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  };
  const fileBytes = 128 * mb;
  function* pieces() {
    for (let sent = 0; sent < fileBytes; sent += pieceBytes) {
      look();
      yield Buffer.allocUnsafeSlow(pieceBytes).fill(sent / pieceBytes);
    }
  }
  await file.fill(Readable.from(pieces(), { objectMode: false }));
  let read = 0;
  for await (const piece of file.read()) {
    look();
    read += piece.length;
  }
  await file.remove();
  assert.equal(read, fileBytes);
  assert.ok(most < 30 * mb, `${Math.round(most / mb)} MB at the most`);
});

test('an upload that fills the disk is refused for now, and leaves nothing behind', async (t) => {
  const disk = mountSmallDisk(t, 2);
  if (disk === null) return t.skip('no small disk can be mounted here');
  const spool = await openSpool(join(disk, 'spool'));
  const file = await spool.place('dev');
  await assert.rejects(file.fill(Readable.from([Buffer.alloc(mb), Buffer.alloc(4 * mb)])), isRefusedForNow);
  await file.remove();
  assert.equal(spool.bytes, 0);
  assert.deepEqual(await readdir(join(disk, 'spool')), []);
});

test('an upload to a disk that has become read-only is refused for now', async (t) => {
  const disk = mountSmallDisk(t, 2);
  if (disk === null) return t.skip('no small disk can be mounted here');
  const spool = await openSpool(join(disk, 'spool'));
  const file = await spool.place('dev');
  assert.equal(spawnSync('mount', ['-o', 'remount,ro', disk]).status, 0);
  await assert.rejects(file.fill(Readable.from([Buffer.alloc(1)])), isRefusedForNow);
  await assert.rejects((await openSpool(join(disk, 'other'))).place('dev'), isRefusedForNow);
});

function isRefusedForNow(error: unknown): true {
  assert.ok(error instanceof FailureError);
  const message = 'This server cannot keep another upload on its disk right now. Retry shortly.';
  assert.deepEqual(error.failure, { kind: 'overloaded', message });
  return true;
}

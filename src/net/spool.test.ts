import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
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

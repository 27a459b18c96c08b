import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { FailureError } from '../../src/kernel/failure.ts';
import { shardOf } from '../../src/vectors/embedded/shards/shard-of.ts';
import type { VectorStore, WriteOperation } from '../../src/vectors/vector-store.ts';
import { alice, near, spec, temporaryStore } from '../fixtures/temporary-vector-store.ts';

const size = 256;

test('F30 disk full: writes are 503 and nothing of them is there, reads go on, and it heals by itself', async (t) => {
  const disk = smallDisk();
  if (disk === null) return t.skip('no file system can be mounted here (needs root)');
  const { store, logged } = temporaryStore(t, { dataDir: join(disk, 'data') });
  t.after(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  await store.create(alice, spec('docs', size));
  // An index in memory, which must not keep what the disk refused.
  for (let batch = 0; batch < 15; batch += 1) await store.write('alice', 'docs', [batchFrom(3_000_000 + 100 * batch)]);
  await store.query('alice', 'docs', [near(new Array(size).fill(1))]);
  const { written: more, failure } = await writeUntilRefused(store);
  const written = 15 * batchPoints + more;
  assert.match(failure, /the disk is full\. Nothing of the call was written\. Reads still work/);
  assert(more > 0);
  assert.equal(await store.count('alice', 'docs', null), written);
  const [hits] = await store.query('alice', 'docs', [near(new Array(size).fill(1), { limit: 3 })]);
  assert.equal(hits!.length, 3);
  assert.equal(await store.trouble(), null);
  assert.equal(logged.length, 1);

  rmSync(join(disk, 'ballast'));
  await store.write('alice', 'docs', [batchFrom(1_000_000)]);
  assert.equal(await store.count('alice', 'docs', null), written + batchPoints);
  assert.match(logged.at(-1)!, /writes work again/);
  const [all] = await store.query('alice', 'docs', [near(new Array(size).fill(1), { limit: 100_000 })]);
  assert.equal(all!.length, written + batchPoints);
});

test('F34 a reader that pins the log for long: writes are refused at its bound, and pass when it has gone', async (t) => {
  const bounds = { checkpointBytes: 256 * 1024, bytesMax: 1024 * 1024 };
  const { store, dataDir } = temporaryStore(t, { wal: bounds });
  await store.create(alice, spec('docs', size));
  await store.write('alice', 'docs', [batchFrom(0)]);
  const file = join(dataDir, 'vectors', `shard-${shardOf('alice')}.db`);
  const reader = new DatabaseSync(file, { readOnly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM point').get();
  const { written, failure } = await writeUntilRefused(store);
  assert.match(failure, /a reader such as a backup keeps Culvert from emptying it/);
  const oneCommit = 256 * 1024;
  assert(statSync(`${file}-wal`).size <= bounds.bytesMax + oneCommit);
  assert.equal(await store.count('alice', 'docs', null), written + batchPoints);

  reader.exec('COMMIT');
  reader.close();
  for (let batch = 0; batch < 20; batch += 1) await store.write('alice', 'docs', [batchFrom(2_000_000 + 100 * batch)]);
  assert(statSync(`${file}-wal`).size <= 4 * bounds.checkpointBytes);
});

const batchPoints = 20;

function batchFrom(first: number): WriteOperation {
  const ids = Array.from({ length: batchPoints }, (_, i) => first + i);
  const vectors = Float32Array.from({ length: batchPoints * size }, (_, i) => Math.sin(first + i));
  return { kind: 'upsert', points: { ids, vectors, payloads: ids.map(() => null) } };
}

/** Points that were written, and the words of the first refusal. */
async function writeUntilRefused(store: VectorStore): Promise<{ written: number; failure: string }> {
  for (let written = 0; ; written += batchPoints) {
    try {
      await store.write('alice', 'docs', [batchFrom(100 + written)]);
    } catch (error) {
      assert(error instanceof FailureError);
      assert.equal(error.failure.kind, 'overloaded');
      return { written, failure: 'message' in error.failure ? error.failure.message : '' };
    }
    assert(written < 100_000, 'it is refused at last');
  }
}

/** A folder of 3 MB, one of which `ballast` holds; null when nobody may mount. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-small-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder], { stdio: 'ignore' });
  if (status === 0) {
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(1024 * 1024));
    return folder;
  }
  rmSync(folder, { recursive: true });
  return null;
}

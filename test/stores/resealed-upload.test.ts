import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentsInRows } from '../../src/inference/batches/file-contents.ts';
import { createPartUploads } from '../../src/inference/batches/part-uploads.ts';
import { createStoredFiles, sealedAs } from '../../src/inference/batches/stored-files.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { drivers } from './drivers.ts';

const [now, before] = ['n'.repeat(44), 'b'.repeat(44)] as const;
const hold = { grow: () => null, expect: () => null, stored() {}, release() {} };

async function* bytes() {
  yield Buffer.from('content');
}

for (const driver of drivers) {
  test(`${driver.name}: an upload whose row is sealed anew while it is completed becomes a file`, {
    skip: driver.skip,
  }, async (t) => {
    const under = await driver.create();
    t.after(() => under.remove());
    const store = await under.batches();
    const sealer = createSealer([now, before], 'batches');
    let passes = 0;
    const replaceFacts: typeof store.replaceFacts = async (id, was, facts) => {
      if (passes++ === 0) {
        const context = sealedAs({ tenant: 'dev/test', id }, 'name');
        assert.ok(await store.replaceFacts(id, was, sealer.seal(sealer.open(was, context)!, context)));
      }
      return store.replaceFacts(id, was, facts);
    };
    const files = createStoredFiles({
      store: { ...store, replaceFacts },
      contents: contentsInRows(store),
      sealer,
      clock: systemClock,
      leftOut: () => {},
      retentionMs: () => 3_600_000,
      onStored: () => {},
    });
    const uploads = createPartUploads(files, systemClock.wallMs);
    const facts = { purpose: 'user_data', name: 'a.txt', lifetimeMs: 3_600_000, mediaType: 'text/plain', bytes: 7 };
    const begun = await uploads.begin('dev/test', facts);
    const { id } = await uploads.add(begun, bytes(), hold);
    const { upload, file } = await uploads.complete(begun, { ids: [id], md5: null }, hold);
    assert.deepEqual([upload.status, upload.fileId, file.bytes, passes], ['completed', file.id, 7, 2]);
    await assert.rejects(uploads.cancel(begun), { message: /^invalid-request: / });
    await store.close();
  });
}

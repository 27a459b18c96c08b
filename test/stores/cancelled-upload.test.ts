import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { contentsInRows } from '../../src/inference/batches/file-contents.ts';
import { createResumableFiles } from '../../src/inference/batches/resumable-files.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { drivers } from './drivers.ts';

const hold = { grow: () => null, expect: () => null, stored() {}, release() {} };
const tenant = 'dev/test';

async function* bytes() {
  yield Buffer.from('content');
}

const facts = { purpose: 'user_data', name: 'a.txt', lifetimeMs: 3_600_000, mediaType: 'text/plain' };

async function open(t: TestContext, driver: (typeof drivers)[number]) {
  const under = await driver.create();
  t.after(() => under.remove());
  const store = await under.batches();
  const kept = contentsInRows(store);
  const parts = {
    store,
    contents: kept,
    sealer: createSealer(['n'.repeat(44)], 'batches'),
    clock: systemClock,
    leftOut: () => {},
    retentionMs: () => 3_600_000,
    onStored: () => {},
  };
  return { store, kept, parts };
}

for (const driver of drivers) {
  test(`${driver.name}: an upload that one process cancels while bytes come to another leaves none`, {
    skip: driver.skip,
  }, async (t) => {
    const { store, kept, parts } = await open(t, driver);
    const other = createResumableFiles(parts);
    // The other process cancels between the length and its bytes.
    const ours = createResumableFiles({
      ...parts,
      contents: {
        ...kept,
        async put(id, seq, content) {
          await other.cancel((await other.find(tenant, id))!);
          return kept.put(id, seq, content);
        },
      },
    });
    const { id } = await ours.begin(tenant, facts);
    await assert.rejects(ours.append((await ours.find(tenant, id))!, bytes(), hold), { message: /^conflict: / });
    assert.equal(await ours.find(tenant, id), null);
    assert.equal(await kept.get(id, 0), null, 'nobody would ever remove it');
    await store.close();
  });

  test(`${driver.name}: an upload that another process ends stays whole when the connection to the first one breaks`, {
    skip: driver.skip,
  }, async (t) => {
    const { store, kept, parts } = await open(t, driver);
    const other = createResumableFiles(parts);
    const ours = createResumableFiles(parts);
    const { id } = await ours.begin(tenant, facts);
    async function* broken() {
      const file = (await other.find(tenant, id))!;
      await other.append(file, bytes(), hold);
      await other.finish(file);
      yield* [] as Buffer[];
      throw new Error('reset');
    }
    await assert.rejects(ours.append((await ours.find(tenant, id))!, broken(), hold), { message: 'reset' });
    assert.equal((await store.findFile(tenant, id, 0))?.bytes, 'content'.length);
    assert.ok(await kept.get(id, 0));
    await store.close();
  });
}

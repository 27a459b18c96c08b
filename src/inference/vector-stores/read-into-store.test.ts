import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreFileRow } from '../../books/metering/vector-store-rows.ts';
import { type ReadingParts, readIntoStore } from './read-into-store.ts';
import { type FileAttributes, fileFactsOf, openFile, sealFacts } from './store-facts.ts';

const sealer = { seal: (plain: Buffer) => plain, open: (sealed: Uint8Array) => Buffer.from(sealed) };

test('attributes that change while the reading of a file ends are those of the file and of its passages', async () => {
  const identity = { id: 'vsf_1', tenant: 'dev/test' };
  const chunking = { sizeTokens: 100, overlapTokens: 0 };
  const facts = { name: 'a.txt', attributes: { year: 1990 }, chunking, error: null };
  let row: StoreFileRow = {
    ...identity,
    ...{ store: 'vs_1', file: 'file-1', keyId: 'key', batch: null, createdMs: 1, status: 'in_progress', bytes: 0 },
    facts: sealFacts(sealer as never, identity, facts),
  };
  let ofPassages: FileAttributes | null = facts.attributes;
  let changes = 0;
  const parts = {
    rows: {
      findFile: async () => row,
      async finishFile(_lease: unknown, { seen, ...end }: { seen: Uint8Array } & Pick<StoreFileRow, 'bytes'>) {
        if (Buffer.compare(seen, row.facts) !== 0) return false;
        row = { ...row, ...end };
        return true;
      },
    },
    passages: {
      async put() {
        return null;
      },
      // A caller changes them here, after the reader has looked for the last time.
      async removeFile() {
        if (changes++ > 0) return;
        const changed = { ...fileFactsOf(openFile(sealer as never, row)), attributes: { year: 2001 } };
        row = { ...row, facts: sealFacts(sealer as never, identity, changed) };
      },
      async setAttributes(_store: unknown, _id: string, attributes: FileAttributes | null) {
        ofPassages = attributes;
      },
      removeAttachments: async () => assert.fail('the file is there'),
    },
    files: async () => ({
      find: async () => ({ bytes: 5, name: 'a.txt', mediaType: null }),
      async *read() {
        yield Buffer.from('Hello');
      },
    }),
    readText: async () => ({ text: 'Hello' }),
    ring: { principalOf: () => ({ tenant: 'dev/test' }), recall() {} },
    sealer,
    clock: { monotonicMs: () => 0, wallMs: () => 0 },
  } as unknown as ReadingParts;
  const lease = { id: 'vsf_1', worker: 'w' };
  await readIntoStore(parts, openFile(sealer as never, row), lease, new AbortController().signal);
  const { status, bytes, attributes } = openFile(sealer as never, row);
  assert.deepEqual([status, bytes, attributes, ofPassages], ['completed', 5, { year: 2001 }, { year: 2001 }]);
});

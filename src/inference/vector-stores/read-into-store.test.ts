import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreFileRow } from '../../books/metering/vector-store-rows.ts';
import { type ReadingParts, readIntoStore } from './read-into-store.ts';
import { type FileAttributes, fileFactsOf, openFile, sealFacts } from './store-facts.ts';

const sealer = { seal: (plain: Buffer) => plain, open: (sealed: Uint8Array) => Buffer.from(sealed) };

const identity = { id: 'vsf_1', tenant: 'dev/test' };
const lease = { id: 'vsf_1', worker: 'w' };

/** A file that is read, and a reader over these parts of the stores. */
function oneFile(over: (file: { row: StoreFileRow }) => { rows?: object; passages: object; readText?: unknown }) {
  const chunking = { sizeTokens: 100, overlapTokens: 0 };
  const facts = { name: 'a.txt', attributes: { year: 1990 }, chunking, error: null };
  const file = {
    row: {
      ...identity,
      ...{ store: 'vs_1', file: 'file-1', keyId: 'key', batch: null, createdMs: 1, status: 'in_progress', bytes: 0 },
      facts: sealFacts(sealer as never, identity, facts),
    } as StoreFileRow,
  };
  const { rows, passages, readText = async () => ({ text: 'Hello' }) } = over(file);
  const parts = {
    rows: {
      findFile: async () => file.row,
      async finishFile(_lease: unknown, { seen, ...end }: { seen: Uint8Array } & Pick<StoreFileRow, 'bytes'>) {
        if (Buffer.compare(seen, file.row.facts) !== 0) return false;
        file.row = { ...file.row, ...end };
        return true;
      },
      ...rows,
    },
    passages: { put: async () => null, removeFile: async () => undefined, ...passages },
    files: async () => ({
      find: async () => ({ bytes: 5, name: 'a.txt', mediaType: null }),
      async *read() {
        yield Buffer.from('Hello');
      },
    }),
    readText,
    ring: { principalOf: () => ({ tenant: 'dev/test' }), recall() {} },
    sealer,
    clock: { monotonicMs: () => 0, wallMs: () => 0 },
  } as unknown as ReadingParts;
  const read = () => readIntoStore(parts, openFile(sealer as never, file.row), lease, new AbortController().signal);
  return { file, read };
}

test('attributes that change while the reading of a file ends are those of the file and of its passages', async () => {
  let ofPassages: FileAttributes | null = { year: 1990 };
  let changes = 0;
  const { file, read } = oneFile((it) => ({
    passages: {
      // A caller changes them here, after the reader has looked for the last time.
      async removeFile() {
        if (changes++ > 0) return;
        const changed = { ...fileFactsOf(openFile(sealer as never, it.row)), attributes: { year: 2001 } };
        it.row = { ...it.row, facts: sealFacts(sealer as never, identity, changed) };
      },
      async setAttributes(_store: unknown, _id: string, attributes: FileAttributes | null) {
        ofPassages = attributes;
      },
      removeAttachments: async () => assert.fail('the file is there'),
    },
  }));
  await read();
  const { status, bytes, attributes } = openFile(sealer as never, file.row);
  assert.deepEqual([status, bytes, attributes, ofPassages], ['completed', 5, { year: 2001 }, { year: 2001 }]);
});

const lost = { finishFile: async () => false, renew: async () => false };

test('a reader that lost its file to another one leaves the passages that the other one has written', async () => {
  const removeAttachments = () => assert.fail('they are those of the other reader');
  const ended = oneFile((it) => ({
    passages: {
      removeAttachments,
      async put() {
        it.row = { ...it.row, status: 'completed' };
        return null;
      },
    },
  }));
  await ended.read();
  const goesOn = oneFile(() => ({ rows: lost, passages: { removeAttachments } }));
  await goesOn.read();
  const failed = async () => ({ code: 'invalid_file', message: 'No text is in it.' });
  const fails = oneFile(() => ({ rows: lost, passages: { removeAttachments }, readText: failed }));
  await fails.read();
});

test('a reader whose file was cancelled or removed meanwhile removes what it has written', async () => {
  const removed: unknown[] = [];
  const { read } = oneFile((it) => ({
    passages: {
      async put() {
        it.row = { ...it.row, status: 'cancelled' };
        return null;
      },
      removeAttachments: async (_store: unknown, ids: unknown) => void removed.push(ids),
    },
  }));
  await read();
  assert.deepEqual(removed, [['vsf_1']]);
});

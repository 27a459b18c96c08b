import type { FileRow } from '../../books/metering/batch-store.ts';
import type { StorageHold } from '../../books/metering/storage/storage-hold.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import {
  chunkBytes,
  inChunks,
  type NewFile,
  newRow,
  openedRow,
  type StoredFile,
  type StoredFilesParts,
  sealedAs,
} from './stored-files.ts';

/** Files that come in several requests, each behind the bytes that are kept. Nobody else finds them before their end. */
export type ResumableFiles = ReturnType<typeof createResumableFiles>;

/** `bytes` are those that are kept, `rowBytes` those that its row tells of. */
export type UnfinishedFile = StoredFile & { rowBytes: number };

const beingSent: Failure = {
  kind: 'conflict',
  message: 'Another request sends content of this upload, or has ended it. Wait for its end, and query the upload.',
};

export function createResumableFiles(parts: StoredFilesParts) {
  const { store, contents, sealer, clock, onStored } = parts;
  /** Ids of files that this process appends to. */
  const busy = new Set<string>();

  function refuseBusy(id: string): void {
    if (busy.has(id)) throw new FailureError(beingSent);
  }

  return {
    /** Begins one without any bytes. What is never finished goes with a later sweep. */
    async begin(tenant: string, file: Omit<NewFile, 'hold'>): Promise<StoredFile> {
      const row = newRow(parts, tenant, file, clock.wallMs());
      await store.putFile(row);
      return openedRow(sealer, row);
    },
    /** One that was begun, with the bytes that are kept; null: the tenant has none. */
    async find(tenant: string, id: string): Promise<UnfinishedFile | null> {
      const row = await store.findUnfinished(tenant, id);
      if (row === null) return null;
      return { ...openedRow(sealer, { ...row, bytes: await storedBytesOf(parts, row) }), rowBytes: row.bytes };
    },
    /**
     * Keeps `content` behind what is kept, and resolves to all bytes. Rejects as `content` does: whole chunks that came
     * before stay. Of several appends to the same file at once one passes, and others are refused with a FailureError.
     */
    async append(file: UnfinishedFile, content: AsyncIterable<Uint8Array>, hold: StorageHold): Promise<number> {
      refuseBusy(file.id);
      busy.add(file.id);
      try {
        return await putBehind(parts, file, content, hold);
      } finally {
        busy.delete(file.id);
      }
    },
    /** Makes it a file as all others. */
    finish: ({ id }: StoredFile): Promise<void> => store.completeFile(id),
    /** Removes it with its bytes. Refused with a FailureError while they come to this process. */
    async cancel({ id, tenant, bytes }: StoredFile): Promise<void> {
      refuseBusy(id);
      await contents.remove(id, Math.ceil(bytes / chunkBytes));
      await store.removeFile(id);
      onStored(tenant, -bytes);
    },
  };
}

async function putBehind(
  { store, contents, sealer, onStored }: StoredFilesParts,
  file: UnfinishedFile,
  content: AsyncIterable<Uint8Array>,
  hold: StorageHold,
): Promise<number> {
  const { id, tenant } = file;
  let seq = Math.floor(file.bytes / chunkBytes);
  let stored = file.bytes;
  let { rowBytes } = file;
  const grow = async (bytes: number) => {
    if (!(await store.growFile(id, bytes, rowBytes))) throw new FailureError(beingSent);
    rowBytes = bytes;
  };
  const head = file.bytes % chunkBytes === 0 ? null : await contents.get(id, seq);
  const begun = head === null ? null : sealer.open(head, sealedAs(file, seq));
  try {
    for await (const chunk of inChunks(begun === null ? content : joined(begun, content))) {
      const bytes = seq * chunkBytes + chunk.length;
      await grow(bytes);
      await contents.put(id, seq, sealer.seal(chunk, sealedAs(file, seq)));
      onStored(tenant, bytes - stored);
      hold.stored(bytes - stored);
      stored = bytes;
      seq += 1;
    }
    // Another process may have begun while the last chunk was on its way, and so behind less.
    await grow(stored);
  } catch (error) {
    if (await store.growFile(id, stored, rowBytes)) throw error;
    const there = (await store.findUnfinished(tenant, id)) ?? (await store.findFile(tenant, id, 0));
    // Another process has cancelled it, and has not ended it: what came behind the removal would stay for ever.
    if (there === null) await contents.remove(id, seq + 1);
    throw error;
  }
  return stored;
}

async function storedBytesOf({ contents, sealer }: StoredFilesParts, row: FileRow): Promise<number> {
  const last = Math.ceil(row.bytes / chunkBytes) - 1;
  if (last < 0) return 0;
  // A process that died between the two writes left a length without its chunk.
  const sealed = await contents.get(row.id, last);
  const chunk = sealed === null ? null : sealer.open(sealed, sealedAs(row, last));
  return last * chunkBytes + (chunk?.length ?? 0);
}

async function* joined(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

import type { BatchStore, FileRow, ListedFiles } from '../../books/metering/batch-store.ts';
import type { StorageHold } from '../../books/metering/storage/storage-hold.ts';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { newPlainSortedId } from '../../kernel/ids.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { type LeftOut, openable, Unopenable } from '../../kernel/unopenable.ts';
import type { FileContents } from './file-contents.ts';

/** Files of tenants, opened and sealed on their way from and to the store. None of them is ever whole in memory. */
export interface StoredFiles {
  /** Keeps all of `content`. Rejects as `content` does, and with a FailureError when it cannot be kept; nothing is left. */
  create(tenant: string, file: NewFile, content: AsyncIterable<Uint8Array>): Promise<StoredFile>;
  /** The same, but nobody finds the file until the store completes it. What never is goes with a later `sweep`. */
  write(tenant: string, file: NewFile, content: AsyncIterable<Uint8Array>): Promise<StoredFile>;
  find(tenant: string, id: string): Promise<StoredFile | null>;
  /** One of `/v1/files`: null too where it has the id, and is kept here for something else. */
  shown(tenant: string, id: string): Promise<StoredFile | null>;
  list(listed: Omit<ListedFiles, 'nowMs'>): Promise<StoredFile[]>;
  /** False when it is not there. Rejects with a FailureError while a batch reads it. */
  remove(tenant: string, id: string): Promise<boolean>;
  /** The same file with another name, until another time. */
  renew(file: StoredFile, name: string, expiresMs: number): Promise<StoredFile>;
  /** The same file with another name; null: it has another one since it was read, and nothing changed. */
  rename(file: StoredFile, name: string): Promise<StoredFile | null>;
  /** Lets everybody find a file that was written; a second call changes nothing. */
  complete(id: string): Promise<void>;
  /** Removes a file that was written and never completed, which counts no more for its account. */
  withdraw(file: Pick<StoredFile, 'id' | 'tenant' | 'bytes'>): Promise<void>;
  /** Throws an UnreadableFile when it is removed meanwhile. */
  read(file: Pick<StoredFile, 'id' | 'tenant' | 'bytes'>): AsyncGenerator<Buffer, void, undefined>;
  /** Removes what expired, and what was never finished; resolves to how many. */
  sweep(nowMs: number): Promise<number>;
}

export interface NewFile {
  purpose: string;
  /** The name that its owner gave it. */
  name: string;
  /** The type that its owner gave; null or left out: it is unknown. */
  mediaType?: string | null;
  /** Null: as long as files are kept. */
  lifetimeMs: number | null;
  /** Holds its bytes while they come; each part is given over as it is kept. */
  hold?: StorageHold;
}

export interface StoredFile extends FileRow {
  name: string;
  mediaType: string | null;
}

/** Purposes of files that callers bring; and of those that batches write for them. */
export const purposes = ['batch', 'user_data', 'assistants', 'vision', 'fine-tune', 'evals'] as const;
export const shownPurposes: readonly string[] = [...purposes, 'batch_output'];

/** Some of its content is gone, or another secret sealed it: no later attempt can read it. */
export class UnreadableFile extends Unopenable {}

/** Bytes of a file that are read, sealed and written in one turn of the loop, before they are sealed. */
export const chunkBytes = 1024 * 1024;
const unfinishedMs = 24 * 3_600_000;
const sweptAtOnce = 100;

export interface StoredFilesParts {
  store: BatchStore;
  contents: FileContents;
  /** Made for this purpose alone. */
  sealer: Sealer;
  clock: Clock;
  leftOut: LeftOut;
  retentionMs(): number;
  /** Called with the bytes that are kept, for the account's storage; below 0: with those removed. */
  onStored(tenant: string, bytes: number): void;
}

export function createStoredFiles(parts: StoredFilesParts): StoredFiles {
  const { store, contents, sealer, clock } = parts;
  async function removed(file: Pick<StoredFile, 'id' | 'bytes'>): Promise<void> {
    await contents.remove(file.id, Math.ceil(file.bytes / chunkBytes));
    await store.removeFile(file.id);
  }

  const opened = (row: FileRow) => openedRow(sealer, row);
  const files: StoredFiles = {
    async create(tenant, file, content) {
      const written = await files.write(tenant, file, content);
      await files.complete(written.id);
      return written;
    },
    async write(tenant, { hold, ...file }, content) {
      const row = newRow(parts, tenant, file, clock.wallMs());
      await store.putFile(row);
      await putChunks(parts, row, { content, hold, removed: () => removed(row) });
      return opened(row);
    },
    async find(tenant, id) {
      const row = await store.findFile(tenant, id, clock.wallMs());
      return row === null ? null : opened(row);
    },
    async shown(tenant, id) {
      const file = await files.find(tenant, id);
      return file !== null && shownPurposes.includes(file.purpose) ? file : null;
    },
    list: (listed) => listedFiles(parts, listed),
    async remove(tenant, id) {
      const row = await store.findFile(tenant, id, clock.wallMs());
      if (row === null) return false;
      if (await store.isRead(id)) throw new FailureError({ kind: 'conflict', message: isRead(id) });
      await removed(row);
      parts.onStored(tenant, -row.bytes);
      return true;
    },
    async renew(file, name, expiresMs) {
      const facts = sealedName(sealer, file, name, file.mediaType);
      await store.renewFile(file.id, expiresMs, facts);
      return { ...file, facts, name, expiresMs };
    },
    rename: (file, name) => renamed(parts, files, file, name),
    complete: (id) => store.completeFile(id),
    async withdraw(file) {
      await removed(file);
      parts.onStored(file.tenant, -file.bytes);
    },
    async *read({ id, tenant, bytes }) {
      for (let seq = 0; seq * chunkBytes < bytes; seq++) {
        const sealed = await contents.get(id, seq);
        if (sealed === null)
          throw new UnreadableFile(`The file '${id}'`, 'ends before its length: it was deleted meanwhile.');
        yield sealer.open(sealed, sealedAs({ id, tenant }, seq)) ?? unreadable(id);
      }
    },
    async sweep(nowMs) {
      let swept = 0;
      for (;;) {
        const rows = await store.expiredFiles(nowMs, nowMs - unfinishedMs, sweptAtOnce);
        for (const row of rows) await removed(row);
        swept += rows.length;
        if (rows.length < sweptAtOnce) return swept;
      }
    },
  };
  return files;
}

async function renamed(
  { store, sealer }: StoredFilesParts,
  files: Pick<StoredFiles, 'find'>,
  file: StoredFile,
  name: string,
): Promise<StoredFile | null> {
  const facts = sealedName(sealer, file, name, file.mediaType);
  for (let was: FileRow | null = file; was !== null; ) {
    if (await store.replaceFacts(file.id, was.facts, facts)) return { ...file, facts, name };
    // A row that was sealed anew meanwhile has the same name.
    const found = await files.find(file.tenant, file.id);
    was = found?.name === file.name ? found : null;
  }
  return null;
}

function listedFiles(
  { store, sealer, clock, leftOut }: StoredFilesParts,
  listed: Omit<ListedFiles, 'nowMs'>,
): Promise<StoredFile[]> {
  const nowMs = clock.wallMs();
  return openable<FileRow, StoredFile>(listed.limit, {
    read: (behind, limit) => store.listFiles({ ...listed, after: behind?.id ?? listed.after, limit, nowMs }),
    opener: () => (row) => openedRow(sealer, row),
    leftOut,
  });
}

/** The row of a file without any bytes yet. */
export function newRow(
  { sealer, retentionMs }: Pick<StoredFilesParts, 'sealer' | 'retentionMs'>,
  tenant: string,
  { purpose, name, mediaType, lifetimeMs }: Omit<NewFile, 'hold'>,
  createdMs: number,
): FileRow {
  const id = newPlainSortedId('file-', createdMs);
  return {
    id,
    tenant,
    purpose,
    bytes: 0,
    createdMs,
    expiresMs: createdMs + (lifetimeMs ?? retentionMs()),
    facts: sealedName(sealer, { id, tenant }, name, mediaType),
  };
}

/** A row with the name that its owner gave it. Throws an UnreadableFile where another secret sealed it. */
export function openedRow(sealer: Sealer, row: FileRow): StoredFile {
  const name = sealer.open(row.facts, sealedAs(row, 'name'));
  if (name === null) return unreadable(row.id);
  const [given = '', mediaType = null] = name.toString('utf8').split('\0', 2);
  return { ...row, name: given, mediaType };
}

/** Keeps the content chunk by chunk, and none of it where one of them fails. */
async function putChunks(
  { store, contents, sealer, onStored }: StoredFilesParts,
  row: Pick<FileRow, 'id' | 'tenant' | 'bytes'>,
  { content, hold, removed }: { content: AsyncIterable<Uint8Array>; hold: NewFile['hold']; removed(): Promise<void> },
): Promise<void> {
  const { id, tenant } = row;
  let seq = 0;
  let storedBytes = 0;
  try {
    for await (const chunk of inChunks(content)) {
      row.bytes += chunk.length;
      await store.growFile(id, row.bytes, storedBytes);
      await contents.put(id, seq, sealer.seal(chunk, sealedAs(row, seq)));
      storedBytes += chunk.length;
      onStored(tenant, chunk.length);
      hold?.stored(chunk.length);
      seq += 1;
    }
  } catch (error) {
    await removed().then(
      () => onStored(tenant, -storedBytes),
      () => undefined,
    );
    throw error;
  }
}

/** The same bytes in pieces of `chunkBytes`; the last one may be shorter. */
export async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (let piece of content) {
    while (bytes + piece.length >= chunkBytes) {
      const taken = chunkBytes - bytes;
      yield Buffer.concat([...waiting, piece.subarray(0, taken)]);
      piece = piece.subarray(taken);
      waiting = [];
      bytes = 0;
    }
    if (piece.length > 0) waiting.push(piece);
    bytes += piece.length;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** Its name, and behind a NUL its type: files from before types were kept have the name alone. */
function sealedName(
  sealer: Sealer,
  file: Pick<FileRow, 'tenant' | 'id'>,
  name: string,
  mediaType: string | null | undefined,
): Uint8Array {
  const plain = name.replaceAll('\0', '');
  const facts = mediaType == null ? plain : `${plain}\0${mediaType}`;
  return sealer.seal(Buffer.from(facts), sealedAs(file, 'name'));
}

/** Context of a sealed part of a file: it opens for this tenant, file and place alone. */
export function sealedAs({ tenant, id }: Pick<FileRow, 'tenant' | 'id'>, part: number | 'name'): string {
  return JSON.stringify([tenant, id, part]);
}

function unreadable(id: string): never {
  throw new UnreadableFile(`The file '${id}'`);
}

function isRead(id: string): string {
  return `A batch still reads the file '${id}'. Wait for the end of the batch, or cancel it first.`;
}

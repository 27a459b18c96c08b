import { createHash } from 'node:crypto';
import type { StorageHold } from '../../books/metering/storage/storage-hold.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { NewFile, StoredFile, StoredFiles } from './stored-files.ts';

/**
 * Uploads whose parts come in any order and become one file at the end, as OpenAI's. An upload and each of its parts is a
 * file with a special purpose: it is sealed, counted and swept as all others, and outlives a restart.
 */
export type PartUploads = ReturnType<typeof createPartUploads>;

export interface NewPartUpload extends Pick<NewFile, 'purpose' | 'name' | 'lifetimeMs'> {
  mediaType: string;
  bytes: number;
}

export interface PartUpload extends NewPartUpload {
  id: string;
  tenant: string;
  createdMs: number;
  expiresMs: number;
  status: 'pending' | 'completed' | 'cancelled' | 'expired';
  /** Id of the file that it became. */
  fileId: string | null;
}

export interface UploadPart {
  id: string;
  uploadId: string;
  createdMs: number;
}

export interface PartOrder {
  ids: readonly string[];
  /** Hexadecimal, of the whole content; null: it is not checked. */
  md5: string | null;
}

type Facts = NewPartUpload & Pick<PartUpload, 'fileId'> & { ended: 'completed' | 'cancelled' | null };

const uploadPurpose = 'upload';
const partPurpose = 'upload_part';
/** After it no part is taken any more, and those that came are removed. */
const openMs = 3_600_000;
/** An upload is known for longer than it takes parts, so that a late call learns why it is refused. */
const knownMs = 24 * 3_600_000;
const pageRows = 1_000;

/** `nowMs`: the clock's wall time. */
export function createPartUploads(files: StoredFiles, nowMs: () => number) {
  /** Ids of uploads that end now. */
  const ending = new Set<string>();

  async function foundAt(tenant: string, id: string): Promise<FoundUpload> {
    const row = await rowOf(files, tenant, id);
    return { row, upload: uploadOf(row, nowMs()) };
  }

  /** One end at a time in this process, so that no content is written for nothing. */
  async function alone<T>({ id, tenant }: PartUpload, work: (found: FoundUpload) => Promise<T>): Promise<T> {
    if (ending.has(id)) throw new FailureError({ kind: 'conflict', message: beingEnded });
    ending.add(id);
    try {
      return await work(await foundAt(tenant, id));
    } finally {
      ending.delete(id);
    }
  }

  return {
    /** Throws a FailureError where the tenant has none. */
    find: async (tenant: string, id: string): Promise<PartUpload> => (await foundAt(tenant, id)).upload,
    async begin(tenant: string, upload: NewPartUpload): Promise<PartUpload> {
      const facts: Facts = { ...upload, fileId: null, ended: null };
      const row = { purpose: uploadPurpose, name: JSON.stringify(facts), lifetimeMs: knownMs };
      return uploadOf(await files.create(tenant, row, nothing()), nowMs());
    },
    /** Keeps a part of a pending upload. */
    async add(upload: PartUpload, content: AsyncIterable<Uint8Array>, hold: StorageHold): Promise<UploadPart> {
      mustBePending(upload);
      const part = { purpose: partPurpose, name: upload.id, lifetimeMs: upload.expiresMs - nowMs(), hold };
      const { id, createdMs } = await files.create(upload.tenant, part, content);
      return { id: id.replace(/^file-/, 'part_'), uploadId: upload.id, createdMs };
    },
    /**
     * Makes a file of the parts in this order, and removes them all. Where something does not match, all parts stay. A
     * second call gives the same file, also one at another replica at the same time.
     */
    complete: (upload: PartUpload, order: PartOrder, hold: StorageHold): Promise<CompletedUpload> =>
      alone(upload, async (found) => {
        const before = await completed(files, found);
        if (before !== null) return before;
        try {
          return await complete(files, found, { ...order, hold }, nowMs());
        } catch (error) {
          // Another replica may have ended it meanwhile, and removed the parts.
          const meanwhile = await completed(files, await foundAt(upload.tenant, upload.id));
          if (meanwhile === null) throw error;
          return meanwhile;
        }
      }),
    /** Removes the parts. A second call changes nothing. */
    cancel: (upload: PartUpload): Promise<PartUpload> =>
      alone(upload, async (found) => {
        if (found.upload.status === 'cancelled') return found.upload;
        mustBePending(found.upload);
        const ended = await end(files, found, 'cancelled', null, nowMs());
        if (ended === null) throw new FailureError({ kind: 'conflict', message: beingEnded });
        await removeParts(files, ended);
        return ended;
      }),
  };
}

/** An upload with the row that says so. */
interface FoundUpload {
  row: StoredFile;
  upload: PartUpload;
}

interface CompletedUpload {
  upload: PartUpload;
  file: StoredFile;
}

/** The upload with this end; null: it has another one since it was found. */
async function end(
  files: StoredFiles,
  { upload, row }: FoundUpload,
  ended: 'completed' | 'cancelled',
  fileId: string | null,
  atMs: number,
): Promise<PartUpload | null> {
  const { purpose, name, lifetimeMs, mediaType, bytes } = upload;
  const facts: Facts = { purpose, name, lifetimeMs, mediaType, bytes, fileId, ended };
  const changed = await files.rename(row, JSON.stringify(facts));
  return changed === null ? null : uploadOf(changed, atMs);
}

/**
 * The file of an upload that is completed; null where it is not, or its file is deleted. Nobody finds the file of one that
 * a process left on its way, so it is completed here.
 */
async function completed(files: StoredFiles, { upload }: FoundUpload): Promise<CompletedUpload | null> {
  const { tenant, fileId, status } = upload;
  if (status !== 'completed' || fileId === null) return null;
  await files.complete(fileId);
  const file = await files.find(tenant, fileId);
  if (file === null) return null;
  await removeParts(files, upload);
  return { upload, file };
}

/** Makes the file of a pending upload. A conflict (409): it ended otherwise meanwhile. */
async function complete(
  files: StoredFiles,
  found: FoundUpload,
  { ids, md5, hold }: PartOrder & { hold: StorageHold },
  atMs: number,
): Promise<CompletedUpload> {
  const { upload } = found;
  mustBePending(upload);
  const { tenant, purpose, name, mediaType, lifetimeMs } = upload;
  const parts = await partsOf(files, upload, ids);
  const content = joined(files, parts, { md5, hold });
  // Nobody finds it before the upload names it: of two that are made at once, one stays.
  const made = await files.write(tenant, { purpose, name, mediaType, lifetimeMs, hold }, content);
  const ended = await end(files, found, 'completed', made.id, atMs);
  if (ended === null) {
    await files.withdraw(made);
    throw new FailureError({ kind: 'conflict', message: beingEnded });
  }
  await files.complete(made.id);
  await removeParts(files, ended);
  return { upload: ended, file: made };
}

/** Row of an upload. */
async function rowOf(files: StoredFiles, tenant: string, id: string): Promise<StoredFile> {
  const file = uploadId.test(id) ? await files.find(tenant, id.replace('upload_', 'file-')) : null;
  if (file?.purpose === uploadPurpose) return file;
  const message = `There is no upload '${id.slice(0, 80)}'. It may have expired, or belong to another key.`;
  throw new FailureError({ kind: 'not-found', param: 'upload_id', message });
}

/** In this order, with as many bytes as the upload was begun for. */
async function partsOf(files: StoredFiles, upload: PartUpload, ids: readonly string[]): Promise<StoredFile[]> {
  const parts: StoredFile[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const [at, id] of ids.entries()) {
    const part = partId.test(id) ? await files.find(upload.tenant, id.replace('part_', 'file-')) : null;
    if (part?.purpose !== partPurpose || part.name !== upload.id) {
      const message = `'part_ids.${at}' names no part of this upload: '${id.slice(0, 80)}'. Use the ids that adding parts returned.`;
      throw new FailureError(invalid(`part_ids.${at}`, message));
    }
    if (seen.has(id)) {
      const message = `'part_ids.${at}' names a part for the second time. Name every part once.`;
      throw new FailureError(invalid(`part_ids.${at}`, message));
    }
    seen.add(id);
    bytes += part.bytes;
    parts.push(part);
  }
  if (bytes === upload.bytes) return parts;
  const message = `The parts of 'part_ids' have ${bytes} bytes together, and the upload was begun for ${upload.bytes}. Name every part once, and add what is missing.`;
  throw new FailureError(invalid('part_ids', message));
}

async function removeParts(files: StoredFiles, { tenant, id }: PartUpload): Promise<void> {
  let after: string | null = null;
  do {
    const listed = { tenant, order: 'asc' as const, after, limit: pageRows, purposes: [partPurpose] };
    const rows: StoredFile[] = await files.list(listed);
    for (const row of rows) if (row.name === id) await files.remove(tenant, row.id);
    after = rows.length < pageRows ? null : (rows.at(-1)?.id ?? null);
  } while (after !== null);
}

const uploadId = /^upload_([0-9a-z]{25})$/;
const partId = /^part_([0-9a-z]{25})$/;

function uploadOf({ id, tenant, name, createdMs }: StoredFile, nowMs: number): PartUpload {
  const { ended, ...facts } = JSON.parse(name) as Facts;
  const expiresMs = createdMs + openMs;
  const status = ended ?? (nowMs < expiresMs ? 'pending' : 'expired');
  return { ...facts, id: id.replace(/^file-/, 'upload_'), tenant, createdMs, expiresMs, status };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Fails at its end where the sum is another, so that nothing of the file stays. */
async function* joined(
  files: StoredFiles,
  parts: readonly StoredFile[],
  { md5, hold }: { md5: string | null; hold: StorageHold },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('md5');
  for (const part of parts) {
    for await (const piece of files.read(part)) {
      const full = hold.grow(piece.length);
      if (full !== null) throw new FailureError(full);
      hash.update(piece);
      yield piece;
    }
  }
  const sum = hash.digest('hex');
  if (md5 !== null && md5.toLowerCase() !== sum) {
    const message = `'md5' is ${md5}, but the parts in this order have ${sum}. Check the order of 'part_ids', and the parts.`;
    throw new FailureError(invalid('md5', message));
  }
}

function mustBePending({ status, id }: PartUpload): void {
  if (status === 'pending') return;
  throw new FailureError(invalid('upload_id', `The upload '${id}' is ${status}. Begin a new one: POST /v1/uploads.`));
}

const beingEnded = 'Another request completes or cancels this upload. Wait for its end.';

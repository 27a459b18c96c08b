import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { LastingCallers } from '../../books/auth/caller-note.ts';
import type { VectorStoreRows } from '../../books/metering/vector-store-rows.ts';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure, statusOf } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { type Lease, leaseMs } from '../../kernel/leased-jobs.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { type StoredFiles, UnreadableFile } from '../batches/stored-files.ts';
import { cutText } from './cut-text.ts';
import type { Passages, StoreCaller } from './passages.ts';
import { fileBytesMax, type ReadFileText } from './read-file.ts';
import { type FileError, fileFactsOf, openFile, type StoreFile, sealFacts } from './store-facts.ts';

/** Parts of the reader of the files of vector stores. */
export interface ReadingParts {
  rows: VectorStoreRows;
  files(): Promise<StoredFiles>;
  passages: Passages;
  readText: ReadFileText;
  ring: LastingCallers;
  sealer: Sealer;
  clock: Clock;
  /** Files whose readers pause, since their model fails or a limit is reached: others may be read meanwhile. */
  pausing: Set<string>;
}

/** Pieces that are embedded by one call: between two of them others get their turns, and the lease is looked at. */
const piecesAtOnce = 64;
/** Failures are tried again with pauses, until this long after the first failure. */
const patienceMs = 10 * 60_000;
const pauses = { firstMs: 1_000, maxMs: 60_000 };

type Read = { bytes: number } | FileError | 'left';

/** Reads a file of a store, cuts it and adds its passages. Rejects when a store fails: then it is taken up again. */
export async function readIntoStore(
  parts: ReadingParts,
  file: StoreFile,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { passages } = parts;
  if (file.caller !== undefined) parts.ring.recall(file.caller);
  const principal = parts.ring.principalOf(file.keyId);
  const read: Read = isFailure(principal)
    ? { code: 'server_error', message: 'The key that added the file may not be used any more.' }
    : await readWhole(parts, file, { principal, requestId: file.id }, signal);
  let now = await present(parts, file);
  while (now !== 'gone') {
    // Its passages are those of the reader that has the file now.
    if (now === 'ended' || read === 'left' || (await finish(parts, file, { now, read, lease }))) return;
    // A change of its attributes came before: it ends with those. Otherwise the lease is lost.
    const { seen } = now;
    now = await present(parts, file);
    if (typeof now === 'object' && Buffer.compare(now.seen, seen) === 0) return;
  }
  // Nobody may find it.
  await passages.removeAttachments(storeOf(file), [file.id]);
}

const storeOf = ({ id, store, tenant }: StoreFile) => ({ id: store, tenant, requestId: id });

/** The file as its row has it. `gone`: it was removed, replaced or cancelled. `ended`: another reader has read it. */
async function present(
  { rows, sealer }: ReadingParts,
  { id, store, file }: StoreFile,
): Promise<StoreFile | 'gone' | 'ended'> {
  const row = await rows.findFile(store, file);
  if (row?.id !== id || row.status === 'cancelled') return 'gone';
  return row.status === 'in_progress' ? openFile(sealer, row) : 'ended';
}

/** Ends it as it is `now`. False: that has changed meanwhile, or the lease is lost. */
async function finish(
  { rows, passages, sealer, clock }: ReadingParts,
  file: StoreFile,
  { now, read, lease }: { now: StoreFile; read: Exclude<Read, 'left'>; lease: Lease },
): Promise<boolean> {
  const store = storeOf(file);
  const isRead = 'bytes' in read;
  if (!isRead) {
    if (!(await rows.renew(lease, clock.wallMs() + leaseMs))) return false;
    await passages.removeAttachments(store, [file.id]);
  }
  // Its attributes may have changed meanwhile. A process that dies here leaves the file to another one as it was.
  if (isRead && !isDeepStrictEqual(now.attributes, file.attributes))
    await passages.setAttributes(store, file.id, now.attributes);
  // Those of an earlier attachment stay until here: one that fails or is cancelled takes nothing away.
  if (isRead) await passages.removeFile(store, file.file, file.id);
  return rows.finishFile(lease, {
    status: isRead ? 'completed' : 'failed',
    bytes: isRead ? read.bytes : now.bytes,
    facts: sealFacts(sealer, file, { ...fileFactsOf(now), error: isRead ? null : read }),
    seen: now.seen,
  });
}

async function readWhole(parts: ReadingParts, file: StoreFile, owner: StoreCaller, signal: AbortSignal): Promise<Read> {
  const content = await contentOf(await parts.files(), file);
  if ('code' in content) return content;
  const read = await parts.readText(file.tenant, content, signal);
  // The threads are busy, or we stop: it is taken up again.
  if (read === 'later') {
    if (signal.aborted) return 'left';
    throw new Error('the threads that read files are busy');
  }
  if ('code' in read) return read;
  return addPieces(parts, file, owner, cutText(read.text, file.chunking), signal);
}

async function contentOf(
  files: StoredFiles,
  { tenant, file }: StoreFile,
): Promise<{ name: string; mediaType: string | null; content: Uint8Array<ArrayBuffer> } | FileError> {
  const found = await files.find(tenant, file);
  if (found === null) return fileDeleted;
  if (found.bytes > fileBytesMax) {
    const message = `The file has more than ${fileBytesMax / 1024 / 1024} MB. Split it into several files.`;
    return { code: 'invalid_file', message };
  }
  try {
    return { ...found, content: await buffer(files.read(found)) };
  } catch (error) {
    if (error instanceof UnreadableFile) return fileDeleted;
    throw error;
  }
}

const fileDeleted: FileError = { code: 'invalid_file', message: 'The file was deleted before it was read.' };

async function addPieces(
  { passages, clock, pausing }: ReadingParts,
  file: StoreFile,
  owner: StoreCaller,
  pieces: ReturnType<typeof cutText>,
  signal: AbortSignal,
): Promise<Read> {
  let bytes = 0;
  let failingSinceMs: number | null = null;
  let failures = 0;
  for (let at = 0; at < pieces.length; ) {
    if (signal.aborted) return 'left';
    const some = pieces.slice(at, at + piecesAtOnce);
    const failure = await passages.put(owner, file, at, some);
    if (failure === null) {
      for (const { text } of some) bytes += Buffer.byteLength(text);
      at += some.length;
      failingSinceMs = null;
      failures = 0;
      continue;
    }
    const nowMs = clock.monotonicMs();
    failingSinceMs ??= nowMs;
    const { retryAfterMs, message } = factsOf(failure, clock.wallMs());
    const waitMs = Math.max(backoffMs(++failures, pauses), retryAfterMs ?? 0);
    if (!mayPass(failure) || nowMs + waitMs - failingSinceMs > patienceMs) return { code: 'server_error', message };
    pausing.add(file.id);
    await pause(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    pausing.delete(file.id);
  }
  return { bytes };
}

/** Limits and providers that are down: not what is wrong with the file or the key. */
function mayPass(failure: Failure): boolean {
  const status = statusOf(failure);
  return status === 429 || status >= 500;
}

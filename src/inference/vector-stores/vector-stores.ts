import { callerIdOf } from '../../books/auth/principal.ts';
import type { NewStoreFile, StoreBatchRow, StoreFileRow } from '../../books/metering/vector-store-rows.ts';
import { dayMs } from '../../kernel/clock.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { newSortedId } from '../../kernel/ids.ts';
import { type JobIntervals, type JobWorker, LeasedJobs } from '../../kernel/leased-jobs.ts';
import type { LeftOut } from '../../kernel/unopenable.ts';
import { fileNotFound } from '../batches/batches.ts';
import type { StoreCaller } from './passages.ts';
import { type ReadingParts, readIntoStore } from './read-into-store.ts';
import {
  type Chunking,
  type FileAttributes,
  fileFactsOf,
  openFile,
  type StoreFacts,
  type StoreFile,
  sealFacts,
  type VectorStore,
} from './store-facts.ts';
import { createStoreReads, type StoreReads } from './store-reads.ts';

export interface VectorStoresParts extends Omit<ReadingParts, 'pausing'> {
  worker: JobWorker;
  leftOut: LeftOut;
  /** Files that a store may have. */
  filesMax(): number;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export interface AttachedFile {
  file: string;
  attributes: FileAttributes | null;
  chunking: Chunking;
}

export type VectorStores = ReturnType<typeof createVectorStores>;

/** Vector stores of one tenant. */
const storesMax = 1_000;
/** Files of one tenant that wait to be read. */
const waitingMax = 2_000;
/** Files that this process reads at the same time, and most of those that pause besides: their texts are in memory. */
const atOnceMax = 8;
const pausingMax = 32;
const intervals: JobIntervals = { lookMs: 5_000, renewMs: 8_000, sweepMs: 600_000 };
const sweptAtOnce = 100;
/** A list may go on behind a file this long after its removal. */
const placesKnownMs = 3_600_000;
/** A store's last use is written at most this often. */
const touchIntervalMs = 60_000;

/** The vector stores of all tenants, and the work at their files that this process has leased. Rejects with FailureErrors. */
export function createVectorStores(parts: VectorStoresParts) {
  const { rows, worker, sealer, clock, onTrouble } = parts;
  const pausing = new Set<string>();
  const leased = new LeasedJobs<StoreFileRow>({
    store: rows,
    worker,
    clock,
    get atOnceMax() {
      return atOnceMax + Math.min(pausing.size, pausingMax);
    },
    noun: 'file of a vector store',
    work: (row, lease, signal) => readIntoStore({ ...parts, pausing }, openFile(sealer, row), lease, signal),
    onTrouble,
  });
  const reads = createStoreReads(parts);
  return {
    ...reads,
    ...changesOf(parts, reads, leased),
    ...fileChangesOf(parts, reads, leased),
    ...lifeOf(parts, leased),
  };
}

/** Stores themselves. */
function changesOf(parts: VectorStoresParts, { store, usable }: StoreReads, leased: LeasedJobs<StoreFileRow>) {
  const { rows, passages, sealer, clock } = parts;
  return {
    /** The store was used now. */
    touch: (found: VectorStore) => touch(parts, found),
    async create(caller: StoreCaller, facts: StoreFacts, model: string, attached: readonly AttachedFile[]) {
      const { tenant, account, keyId } = caller.principal;
      const createdMs = clock.wallMs();
      const id = newSortedId('vs_', createdMs);
      const expiresMs = expiryOf(facts, createdMs);
      const row = { id, tenant, account, keyId, createdMs, activeMs: createdMs, expiresMs };
      await passages.make(caller, id, model);
      try {
        const sealedFacts = sealFacts(sealer, row, facts);
        if ((await rows.createStore({ ...row, facts: sealedFacts }, storesMax)) === 'full')
          throw new FailureError(full('vector_stores', storesMax, `A key has at most ${storesMax} vector stores.`));
        await attach(parts, caller, id, attached, { batch: null, param: 'file_ids' });
      } catch (error) {
        // A database that took no store may not remove one either.
        const dropped = passages.drop({ id, tenant, requestId: caller.requestId });
        await Promise.allSettled([rows.removeStore(tenant, id), dropped]);
        throw error;
      }
      void leased.look();
      return store(tenant, id);
    },
    async change(tenant: string, id: string, changed: Partial<StoreFacts>) {
      const found = await usable(tenant, id);
      const { name, description, metadata, expiresAfterDays } = { ...found, ...changed };
      const facts = sealFacts(sealer, found, { name, description, metadata, expiresAfterDays });
      await rows.changeStore({ id, tenant, facts, expiresMs: expiryOf({ expiresAfterDays }, found.activeMs) });
      return store(tenant, id);
    },
    async remove(caller: StoreCaller, id: string) {
      const { tenant } = caller.principal;
      await store(tenant, id);
      await passages.drop({ id, tenant, requestId: caller.requestId });
      await rows.removeStore(tenant, id);
    },
  };
}

function fileChangesOf(
  parts: VectorStoresParts,
  { usable, file, batch }: StoreReads,
  leased: LeasedJobs<StoreFileRow>,
) {
  const { rows, passages, clock } = parts;
  async function remove(
    { principal: { tenant }, requestId }: StoreCaller,
    { id, store, file }: Pick<StoreFileRow, 'id' | 'store' | 'file'>,
  ) {
    await passages.removeFile({ id: store, tenant, requestId }, file, null);
    // Its reader notices, and removes what it has written.
    await rows.removeFile({ id, store, file }, clock.wallMs());
    leased.abort(id);
  }
  return {
    async attach(caller: StoreCaller, storeId: string, attached: AttachedFile) {
      const { tenant } = caller.principal;
      await touch(parts, await usable(tenant, storeId));
      await attach(parts, caller, storeId, [attached], { batch: null, param: 'file_id' });
      void leased.look();
      return file(tenant, storeId, attached.file);
    },
    /** `param`: the field that names the files. */
    async attachBatch(caller: StoreCaller, storeId: string, attached: readonly AttachedFile[], param: string) {
      const { tenant } = caller.principal;
      await touch(parts, await usable(tenant, storeId));
      const createdMs = clock.wallMs();
      const id = newSortedId('vsfb_', createdMs);
      const row = { id, store: storeId, createdMs, cancelledMs: null };
      await attach(parts, caller, storeId, attached, { batch: row, param });
      void leased.look();
      return batch(tenant, storeId, id);
    },
    async cancelBatch({ principal: { tenant }, requestId }: StoreCaller, storeId: string, id: string) {
      const found = await batch(tenant, storeId, id);
      // One that is done stays what it is.
      if (found.counts.in_progress === 0) return found;
      await rows.cancelBatch(id, clock.wallMs());
      const of = { store: storeId, batch: id, status: 'cancelled' } as const;
      const cancelled = (await rows.listFiles(of, { from: null, order: 'asc', limit: waitingMax })).map(({ id }) => id);
      for (const file of cancelled) leased.abort(file);
      // Its reader may wait long for the model, and die before it removes what it has written.
      if (cancelled.length > 0) await passages.removeAttachments({ id: storeId, tenant, requestId }, cancelled);
      return batch(tenant, storeId, id);
    },
    changeAttributes: (caller: StoreCaller, storeId: string, id: string, attributes: FileAttributes | null) =>
      changeAttributes(parts, () => file(caller.principal.tenant, storeId, id), caller, attributes),
    async removeFile(caller: StoreCaller, storeId: string, id: string) {
      await remove(caller, await file(caller.principal.tenant, storeId, id));
    },
    /** The file itself was deleted: no store of its key has it any more. */
    async removeFromAll(caller: StoreCaller, id: string) {
      const page = { from: null, order: 'asc', limit: storesMax } as const;
      for (const store of await rows.listStores(caller.principal.tenant, page)) {
        const found = await rows.findFile(store.id, id);
        if (found !== null) await remove(caller, found);
      }
    },
  };
}

/** The file as it is then. `read`: as it is now. */
async function changeAttributes(
  { rows, passages, sealer }: VectorStoresParts,
  read: () => Promise<StoreFile>,
  { requestId }: StoreCaller,
  attributes: FileAttributes | null,
): Promise<StoreFile> {
  let isChanged = false;
  while (!isChanged) {
    const found = await read();
    const facts = sealFacts(sealer, found, { ...fileFactsOf(found), attributes });
    isChanged = await rows.changeFile({ id: found.id, facts }, found.seen);
  }
  // Its reader may have ended meanwhile. One that has not looks again at its end.
  const changed = await read();
  const { id, store, tenant, status } = changed;
  if (status === 'completed') await passages.setAttributes({ id: store, tenant, requestId }, id, changed.attributes);
  return changed;
}

function lifeOf(parts: VectorStoresParts, leased: LeasedJobs<StoreFileRow>) {
  const { rows } = parts;
  return {
    start: () => leased.begin(intervals, () => sweep(parts)),
    /** Other processes take up what this one leaves. */
    async stop() {
      await leased.stop();
      await leased.release();
      await rows.close();
    },
  };
}

async function touch({ rows, clock }: VectorStoresParts, found: VectorStore): Promise<void> {
  const nowMs = clock.wallMs();
  if (nowMs - found.activeMs < touchIntervalMs) return;
  const { id, tenant } = found;
  await rows.touchStore({ id, tenant, activeMs: nowMs, expiresMs: expiryOf(found, nowMs) });
}

async function attach(
  parts: VectorStoresParts,
  caller: StoreCaller,
  storeId: string,
  attached: readonly AttachedFile[],
  { batch: inBatch, param }: { batch: StoreBatchRow | null; param: string },
): Promise<void> {
  if (attached.length === 0) return;
  const made = await newFiles(parts, caller, storeId, attached, { batch: inBatch?.id ?? null, param });
  const filesMax = parts.filesMax();
  const outcome = await parts.rows.attach(made, inBatch, { filesMax, waitingMax });
  if (outcome === 'store-full') {
    throw new FailureError(full('files', filesMax, `A vector store has at most ${filesMax} files.`));
  }
  if (outcome === 'too-many-waiting') {
    const why = `At most ${waitingMax} files of a key wait to be read. Wait until some have been read.`;
    throw new FailureError(full('files', waitingMax, why));
  }
}

async function newFiles(
  parts: VectorStoresParts,
  { principal }: StoreCaller,
  storeId: string,
  attached: readonly AttachedFile[],
  { batch, param }: { batch: string | null; param: string },
): Promise<NewStoreFile[]> {
  const { sealer, clock } = parts;
  const files = await parts.files();
  const { tenant } = principal;
  const keyId = callerIdOf(principal);
  const caller = parts.ring.noteOf(keyId);
  const createdMs = clock.wallMs();
  const all: NewStoreFile[] = [];
  for (const { file: id, attributes, chunking } of attached) {
    const found = await files.shown(tenant, id);
    if (found === null) throw new FailureError(fileNotFound(id, param));
    // Their ids sort in the order in which they were named.
    const identity = { id: newSortedId('vsf_', createdMs + all.length), tenant };
    const seen = { name: found.name, attributes, chunking, error: null, ...(caller !== null && { caller }) };
    const facts = sealFacts(sealer, identity, seen);
    all.push({ ...identity, store: storeId, keyId, file: id, batch, createdMs, facts });
  }
  return all;
}

/** Removes the passages and files of stores that expired, and what is known of files that were removed. */
async function sweep({ rows, passages, clock, onTrouble }: VectorStoresParts): Promise<void> {
  try {
    await rows.forgetPlaces(clock.wallMs() - placesKnownMs);
    for (;;) {
      const expired = await rows.expiredStores(clock.wallMs(), sweptAtOnce);
      for (const one of expired) {
        await passages.drop({ ...one, requestId: one.id });
        await rows.emptyStore(one.id);
      }
      if (expired.length < sweptAtOnce) return;
    }
  } catch (error) {
    onTrouble(`expired vector stores could not be removed: ${String(error)}`);
  }
}

function expiryOf({ expiresAfterDays: days }: Pick<StoreFacts, 'expiresAfterDays'>, activeMs: number): number | null {
  return days === null ? null : activeMs + days * dayMs;
}

function full(limit: string, most: number, message: string): Failure {
  return { kind: 'quota-exceeded', limit, window: null, used: most, allowed: most, freeAtMs: null, message };
}

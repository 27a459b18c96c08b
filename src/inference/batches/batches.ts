import type { LastingCallers } from '../../books/auth/caller-note.ts';
import type { BatchFormat, BatchRow, ListedBatches } from '../../books/metering/batch-store.ts';
import { type Failure, FailureError, invalid } from '../../kernel/failure.ts';
import { newSortedId } from '../../kernel/ids.ts';
import { type JobIntervals, type JobWorker, type Lease, LeasedJobs } from '../../kernel/leased-jobs.ts';
import { type LeftOut, openable } from '../../kernel/unopenable.ts';
import { type Batch, type BatchFacts, batchContext, lostFacts, openBatch, sealFacts } from './batch-facts.ts';
import type { BatchParts } from './batch-parts.ts';
import { runBatch } from './batch-run.ts';

/** The batches of all tenants: what may be asked of them, and the work at those that this process has leased. */
export type Batches = ReturnType<typeof createBatches>;

export interface NewBatchRequest extends Omit<BatchFacts, 'errors' | 'caller'> {
  format: BatchFormat;
  endpoint: string;
  inputFile: string;
  windowMs: number;
}

export interface BatchesParts extends BatchParts {
  callers: LastingCallers;
  worker: JobWorker;
  leftOut: LeftOut;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Batches of one tenant that have not ended. */
const openMax = 100;
/** Worked at by one process. Most of them wait for a provider's batch, for hours. */
const atOnceMax = 512;
const intervals: JobIntervals = { lookMs: 5_000, renewMs: 8_000, sweepMs: 3_600_000 };
const linesPrunedAtOnce = 500;
/** A batch that no secret opens is given up so long after its window. */
const lostAfterMs = 3_600_000;

/** Members of a batch that nobody has worked at. */
const begun = {
  ending: null,
  total: null,
  succeeded: 0,
  errored: 0,
  countedMs: null,
  cancellingMs: null,
  finalizingMs: null,
  endedMs: null,
  outputFile: null,
  errorFile: null,
  aheadSucceeded: 0,
} as const;

const idPrefix: Record<BatchFormat, string> = { openai: 'batch_', anthropic: 'msgbatch_', gemini: 'genbatch_' };

export function createBatches(parts: BatchesParts) {
  const { store, worker, clock, sealer, onTrouble } = parts;
  const isLost = ({ id, facts }: BatchRow) => sealer.open(facts, batchContext(id)) === null;
  const leased = new LeasedJobs<BatchRow>({
    store,
    worker,
    clock,
    atOnceMax,
    noun: 'batch',
    async work(row, lease, signal): Promise<void> {
      // Another server that has the secret ends it in the meantime.
      if (clock.wallMs() > row.deadlineMs + lostAfterMs && isLost(row)) return endLost(parts, row, lease);
      const batch = openBatch(sealer, row);
      if (batch.caller !== undefined) parts.callers.recall(batch.caller);
      return runBatch({ ...parts, batch, lease, signal, hasRoom: () => leased.hasRoom() });
    },
    onTrouble,
  });

  async function find(tenant: string, format: BatchFormat, id: string): Promise<Batch | null> {
    const row = await store.findBatch(tenant, id, clock.wallMs());
    return row === null || row.format !== format ? null : openBatch(sealer, row);
  }

  return {
    find,
    /** Rejects with a FailureError when the tenant has too many. */
    async create(
      owner: Pick<BatchRow, 'tenant' | 'account' | 'keyId'>,
      { format, endpoint, inputFile, windowMs, ...facts }: NewBatchRequest,
    ): Promise<Batch> {
      const createdMs = clock.wallMs();
      const id = newSortedId(idPrefix[format], createdMs);
      const caller = parts.callers.noteOf(owner.keyId);
      const row = {
        ...owner,
        id,
        format,
        endpoint,
        inputFile,
        createdMs,
        deadlineMs: createdMs + windowMs,
        facts: sealFacts(sealer, { ...facts, errors: [], ...(caller !== null && { caller }) }, id),
      };
      if ((await store.createBatch(row, openMax)) === 'full') throw new FailureError(tooMany);
      void leased.look();
      // It runs: a look that failed would make its caller begin another one.
      return openBatch(sealer, { ...row, ...begun });
    },
    list: (listed: Omit<ListedBatches, 'nowMs'>): Promise<Batch[]> => listedBatches(parts, listed),
    /** Returns its state after that; null when there is none. */
    async cancel(tenant: string, format: BatchFormat, id: string): Promise<Batch | null> {
      if ((await find(tenant, format, id)) === null) return null;
      await store.cancel(tenant, id, clock.wallMs());
      return find(tenant, format, id);
    },
    /** Only of one that has ended. */
    remove: (tenant: string, id: string): Promise<void> => store.removeBatch(tenant, id),
    start: (): Promise<void> => leased.begin(intervals, () => prune(parts)),
    /** Lines under way get a moment; batches go to the process that comes next. */
    async stop(): Promise<void> {
      await leased.stop();
      await leased.release();
    },
  };
}

function listedBatches(
  { store, sealer, clock, leftOut }: BatchesParts,
  listed: Omit<ListedBatches, 'nowMs'>,
): Promise<Batch[]> {
  const nowMs = clock.wallMs();
  return openable<BatchRow, Batch>(listed.limit, {
    read: (behind, limit) => store.listBatches({ ...listed, after: behind?.id ?? listed.after, limit, nowMs }),
    opener: () => (row) => openBatch(sealer, row),
    leftOut,
  });
}

/** Ends a batch that no secret opens as failed: its lines and their results cannot be read either. */
async function endLost(
  { store, sealer, clock, retentionMs }: BatchesParts,
  row: BatchRow,
  lease: Lease,
): Promise<void> {
  const atMs = clock.wallMs();
  const facts = sealFacts(sealer, lostFacts(row), row.id);
  const files = { outputFile: null, errorFile: null };
  await store.end(lease, { ...files, ending: 'failed', atMs, expiresMs: atMs + retentionMs(), facts });
}

/** Removes what is over: lines of batches that have ended, batches and files whose time is over. */
async function prune({ store, files, clock, onTrouble }: BatchesParts): Promise<void> {
  try {
    while ((await store.removeLines(linesPrunedAtOnce)) > 0);
    await store.removeExpired(clock.wallMs());
    await files.sweep(clock.wallMs());
  } catch (error) {
    onTrouble(`old batches and files could not be removed: ${String(error)}`);
  }
}

const tooMany: Failure = {
  kind: 'quota-exceeded',
  limit: 'batches',
  window: null,
  used: openMax,
  allowed: openMax,
  freeAtMs: null,
  message: `This key has ${openMax} batches that have not ended. Wait for one of them, or cancel one.`,
};

export function batchNotFound(id: string): Failure {
  return { kind: 'not-found', message: `There is no batch '${id}'. It may have expired, or belong to another key.` };
}

export function fileNotFound(id: string, param: string | null = null): Failure {
  const message = `There is no file '${id}'. It may have expired, or belong to another key.`;
  return param === null ? { kind: 'not-found', message } : invalid(param, message);
}

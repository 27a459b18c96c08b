import type { CallerNote } from '../../books/auth/caller-note.ts';
import type { BatchRow } from '../../books/metering/batch-store.ts';
import { hourMs } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { Unopenable } from '../../kernel/unopenable.ts';
import type { BatchPart } from './upstream/batch-part.ts';

/** Sealed facts of a batch that its row does not show. */
export interface BatchFacts {
  metadata: JsonObject | null;
  /** In the caller's words. */
  window: string;
  /** Headers of the request that made it, for its lines. */
  headers: Record<string, string>;
  /** Absent: its key is in a store. */
  caller?: CallerNote;
  /** How long its files of results are kept; null: as long as all files. */
  outputKeptForMs: number | null;
  /** Facts of a batch in Gemini's format; absent: it has another. */
  gemini?: GeminiBatchFacts;
  /** Why it failed as a whole. */
  errors: readonly BatchError[];
  /** Parts of it that providers have or had; absent: nothing yet. */
  parts?: readonly BatchPart[];
}

export interface GeminiBatchFacts {
  /** The model that all its lines ask. */
  model: string;
  displayName: string;
  /** Whether its requests came in the call that made it: then its owner has no file of them. */
  input: 'inline' | 'file';
}

export interface BatchError {
  code: string;
  message: string;
  line: number | null;
}

export interface Batch extends Omit<BatchRow, 'facts'>, BatchFacts {}

export function sealFacts(sealer: Sealer, facts: BatchFacts, id: string): Buffer {
  return sealer.seal(Buffer.from(JSON.stringify(facts)), batchContext(id));
}

/** Facts of a batch that stay as they were when it was made. */
export function madeWith(batch: Batch): Omit<BatchFacts, 'errors'> {
  const { metadata, window, headers, outputKeptForMs, caller, gemini } = batch;
  const rare = { ...(caller !== undefined && { caller }), ...(gemini !== undefined && { gemini }) };
  return { metadata, window, headers, outputKeptForMs, ...rare };
}

/** Throws for a row that another secret sealed. */
export function openBatch(sealer: Sealer, { facts: sealed, ...row }: BatchRow): Batch {
  const facts = sealer.open(sealed, batchContext(row.id));
  if (facts === null) throw new Unopenable(`The batch '${row.id}'`);
  return { ...row, ...(JSON.parse(facts.toString('utf8')) as BatchFacts) };
}

/** Facts of a batch that failed because no secret opens those that it had. */
export function lostFacts({ createdMs, deadlineMs }: BatchRow): BatchFacts {
  const window = `${Math.round((deadlineMs - createdMs) / hourMs)}h`;
  return { metadata: null, window, headers: {}, outputKeptForMs: null, errors: [secretLost] };
}

const secretLost: BatchError = {
  code: 'secret_lost',
  message: 'It was sealed with another storage.secret, which this server did not have until the end of its window.',
  line: null,
};

/** Lines with an answer; while a batch runs, those too that a provider has answered and not handed over. */
export function succeededSoFar({ total, succeeded, errored, aheadSucceeded, finalizingMs, endedMs }: Batch): number {
  if (finalizingMs !== null || endedMs !== null) return succeeded;
  return Math.max(succeeded, Math.min(aheadSucceeded, (total ?? 0) - errored));
}

/** Context that the facts of a batch are sealed with. */
export function batchContext(id: string): string {
  return JSON.stringify([id, 'facts']);
}

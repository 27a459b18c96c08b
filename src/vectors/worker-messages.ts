import type { MessagePort } from 'node:worker_threads';
import type { Failure } from '../kernel/failure.ts';
import type { PassCores } from './embedded/index/pass-threads.ts';
import type { QdrantWay } from './qdrant/qdrant-connection.ts';
import type { Embedded, FoundTexts, Prepared, RankedText, VectorCall } from './vector-engine.ts';
import type { VectorStore } from './vector-store.ts';

/** Data for a thread at its start. */
export interface WorkerData {
  driver: WorkerDriver;
  limits: { collectionsPerAccount: number; pointsPerCall: number };
}

export type WorkerDriver =
  | { kind: 'embedded'; dataDir: string; shards: readonly number[]; memoryBytes: number; passCores: PassCores }
  | { kind: 'qdrant'; url: string; apiKey: string | null; way: QdrantWay; registry: MessagePort };

/** Methods of a store that may be called over the border: those whose arguments are data. */
export type StoreMethod = Exclude<keyof VectorStore, 'close'>;

/** To the thread. Each with an `id` is answered once, with the same id. */
export type ToWorker =
  /** `prepared`: a number that `run` or `drop` names it by. `atOnce`: if the call only reads, it is run as well. */
  | { kind: 'prepare'; id: number; prepared: number; call: VectorCall; atOnce: boolean }
  | { kind: 'run'; id: number; prepared: number; embedded: Embedded | null }
  /** After a `run` that was answered by texts. */
  | { kind: 'rank'; id: number; prepared: number; ranked: readonly RankedText[] }
  | { kind: 'drop'; prepared: number }
  | { kind: 'store'; id: number; method: StoreMethod; args: unknown[] }
  /** Commits what waits. */
  | { kind: 'close'; id: number }
  | { kind: 'place'; id: number; failure: Failure | null };

export type FromWorker =
  /** First of all: the collections that accounts have in this thread's shards. */
  | { kind: 'ready'; collections: readonly { account: string; collections: number }[]; bytes: readonly StoredBytes[] }
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; failure: Failure }
  /** Asks for one of the account's places for a collection; `place` with the same id answers. */
  | { kind: 'take'; id: number; account: string }
  | { kind: 'give'; account: string; collections: number }
  /** Bytes that an account keeps more, or less. */
  | ({ kind: 'stored' } & StoredBytes)
  | { kind: 'tell'; message: string };

export interface StoredBytes {
  account: string;
  bytes: number;
}

/** The result of `prepare`. `ran`: the outcome of a call that was run at once; it is not kept there any more. */
export type PreparedReply = Pick<Prepared, 'texts' | 'rerank' | 'effect'> & { ran: RunReply | Failure | null };

/** That of `run`: the answer's body, or the texts that must be ranked before there is one. That of `rank` is the body. */
export type RunReply = Uint8Array<ArrayBuffer> | FoundTexts;

/** The error for a call whose thread died on the way. */
export const interrupted: Failure = {
  kind: 'overloaded',
  message: 'The vector store was interrupted, so a write without an answer may or may not be stored. Retry it.',
};

import type { Failure } from '../kernel/failure.ts';
import type { BodyMemory } from './body-memory.ts';
import type { Owner } from './vector-store.ts';
import type { VectorVerb } from './verbs.ts';

/**
 * The vector store as the main thread sees it: bytes in, bytes out, in two steps, so that a call is charged after its
 * body was found right and before anything is done. Parsing and searching happen in worker threads. Nothing here
 * rejects.
 */
export interface VectorEngine {
  /** For large bodies that are given to `prepare`. */
  readonly bodyMemory: BodyMemory;
  /** Reads and checks a call, and what of it must be embedded first. Every `Prepared` must be run or dropped. */
  prepare(call: VectorCall): Promise<Prepared | Failure>;
  /** Bytes that an account keeps, over all its keys; null where they are not here. Starts the threads. */
  storedBytes(account: string): Promise<number | null>;
  /** Why it cannot serve, for /readyz; null when it can or has not been asked for yet. */
  trouble(): string | null;
  close(): Promise<void>;
}

/** Effect of a call on the stored data: none, growth, or change and removal. */
export type CallEffect = 'reads' | 'adds' | 'changes';

export interface VectorCall {
  owner: Owner;
  verb: VectorVerb;
  /** Path parameters, decoded: `collection`, `id` (point), `field` (payload index). */
  params: Readonly<Record<string, string | undefined>>;
  /** The raw query after `?`; '' when there is none. */
  search: string;
  /**
   * Empty when the call has none. Unless it is shared, its memory goes to the worker, and nobody may use it afterwards.
   */
  body: Uint8Array;
}

export interface Prepared {
  kind: 'prepared';
  /** Texts to embed before it can run; null for most calls. One model a call. */
  texts: TextsToEmbed | null;
  /** The model that ranks the results; null for most calls. */
  rerank: Reranking | null;
  effect: CallEffect;
  /**
   * `embedded`: vectors of `texts`, null when there were none. Does the call and ends it. `rank` is called once at
   * most, and only with `rerank`; not when no text was found.
   */
  run(embedded: Embedded | null, rank: RankTexts): Promise<VectorAnswer | Failure>;
  /** Outcome of a call that only reads and was run at once, which waits for `run`; null: it did not run. */
  ran: VectorAnswer | Failure | null;
  /** Ends it, nothing done. */
  drop(): void;
}

export interface TextsToEmbed {
  /** Alias, as the caller or the collection names it. */
  model: string;
  /** Asymmetric models embed stored texts and queries differently. */
  purpose: 'document' | 'query';
  /** In order; empty when only the length of the model's vectors must be known (a collection is made). */
  texts: readonly string[];
}

export interface Embedded {
  /** Length of each vector. */
  size: number;
  /** `texts.length` × `size`, row after row. */
  vectors: Float32Array;
}

export interface Reranking {
  /** Alias. */
  model: string;
  /** How well a text answers this is its rank. */
  query: string;
}

/** Texts of the points that were found, at least one. */
export interface FoundTexts {
  texts: readonly string[];
  /** Memory that the found points take until they are answered, their texts included. */
  bytes: number;
}

export interface RankedText {
  /** Index of the text. */
  index: number;
  /** More is better; of any range. */
  score: number;
}

/** Gives each text once at most, in any order. */
export type RankTexts = (found: FoundTexts) => Promise<readonly RankedText[] | Failure>;

export interface VectorAnswer {
  kind: 'answer';
  status: 200;
  /** JSON in Qdrant's envelope, whole. */
  body: Uint8Array;
}

import type { Failure } from '../../kernel/failure.ts';
import type {
  Embedded,
  FoundTexts,
  Prepared,
  RankedText,
  VectorAnswer,
  VectorCall,
} from '../../vectors/vector-engine.ts';
import type { StoreMethod } from '../../vectors/worker-messages.ts';

/** Services of the process that has the embedded vectors to a worker. */
export interface VectorsOffers {
  /** `number` names it in what follows. `paid`: as below. */
  prepare(call: VectorCall, paid: readonly number[]): Promise<SentPrepared | Failure>;
  run(number: number, embedded: Embedded | null): Promise<VectorAnswer | Failure>;
  /** These calls, which ran at once, are charged, and their answers given. */
  paid(numbers: readonly number[]): void;
  drop(number: number): void;
  storedBytes(account: string): Promise<number | null>;
  trouble(): string | null;
  store(method: StoreMethod, args: unknown[]): Promise<unknown>;
}

export type SentPrepared = Pick<Prepared, 'kind' | 'texts' | 'rerank' | 'effect' | 'ran'> & { number: number };

/** Services of a worker to it. */
export interface VectorsAskers {
  rank(number: number, found: FoundTexts): Promise<readonly RankedText[] | Failure>;
  /** Bytes that were written, or (negative) removed. */
  stored(bytes: number): void;
}

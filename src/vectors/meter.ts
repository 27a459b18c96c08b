import type { Failure } from '../kernel/failure.ts';
import type { Embedded, Prepared, RankedText } from './engine.ts';

/** Given by the composition: what a vector call costs, and how its texts become vectors. Nothing here rejects. */
export interface VectorMeter<Call> {
  /**
   * Holds the cost of the call, with `texts` that of embedding them, and with `rerank` that of reranking, at once: all
   * or nothing. `texts.texts` may be empty: then only the size is wanted, and embedding is charged only when nobody
   * declares it.
   */
  hold(call: Call, needs: VectorNeeds): Promise<VectorHold | Failure>;
}

/** Facts of a checked call: its effect, and the models that it needs. */
export interface VectorNeeds extends Pick<Prepared, 'texts' | 'rerank' | 'effect'> {
  /** About what a call that adds will store. */
  bodyBytes: number;
}

/** Must be settled, once. */
export interface VectorHold {
  kind: 'held';
  /** Answer headers: limits, and the cost so far or to come. Flat name, value… */
  readonly headers: readonly string[];
  /** Once, and only when texts were given. */
  embed(): Promise<Embedded | Failure>;
  /** Once at most, and only with `rerank`; without it reranking is not charged. `texts`: at least one. */
  rank(texts: readonly string[]): Promise<readonly RankedText[] | Failure>;
  /** `status`: what the caller gets. A refused call costs nothing. */
  settle(end: { status: number; failure: Failure | null; aborted: boolean }): void;
}

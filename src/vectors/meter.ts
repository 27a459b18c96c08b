import type { Failure } from '../kernel/failure.ts';
import type { CallEffect, Embedded, TextsToEmbed } from './engine.ts';

/** Given by the composition: what a vector call costs, and how its texts become vectors. Nothing here rejects. */
export interface VectorMeter<Call> {
  /**
   * Holds the cost of the call, and with `texts` that of embedding them, at once: all or nothing. `texts.texts` may be
   * empty: then the size alone is asked for, and embedding is charged only where nobody declares it.
   */
  hold(call: Call, texts: TextsToEmbed | null, effect: CallEffect): Promise<VectorHold | Failure>;
}

/** Must be settled, once. */
export interface VectorHold {
  kind: 'held';
  /** Answer headers: limits, cost. Flat name, value… */
  readonly headers: readonly string[];
  /** Once, and only when texts were given. */
  embed(): Promise<Embedded | Failure>;
  /** `status`: what the caller gets. A refused call costs nothing. */
  settle(end: { status: number; failure: Failure | null; aborted: boolean }): void;
}

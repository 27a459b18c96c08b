import type { CodeImage } from './code-image.ts';
import type { Ranked } from './vector-index.ts';

/** One way to keep a collection's vectors in memory. `query` is comparable (see exact-score.ts). */
export interface Tier {
  readonly kind: 'floats' | 'codes';
  readonly count: number;
  readonly bytes: number;
  /** Throws ArenaFull; the tier can only be closed then. */
  put(slot: number, vector: Float32Array): void;
  /** False when the slot was empty. */
  remove(slot: number): boolean;
  /** `slots` that hold nothing are passed over. */
  search(query: Float32Array, k: number, slots: Uint32Array | null): Ranked;
  /** Only tiers that keep images have one. */
  image?(): CodeImage;
  close(): void;
}

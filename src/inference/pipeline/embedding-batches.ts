import type { DecodedEmbeddings } from '../dialects/embeddings/format.ts';
import { malformed } from '../dialects/embeddings/read-rows.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { EmbeddingTarget } from '../routing/target.ts';

/** Numbers of one answer: 2,048 vectors of 8,192. At 8 bytes each this is the most memory that it takes. */
const numbersMax = 2_048 * 8_192;

/** Places of inputs, in order, in as many calls as the target needs. */
export function batchesOf(
  places: readonly number[],
  tokensEach: readonly number[],
  { batch, batchTokens }: Pick<EmbeddingTarget, 'batch' | 'batchTokens'>,
): number[][] {
  const tokensMax = batchTokens ?? Number.POSITIVE_INFINITY;
  const batches: number[][] = [];
  let current: number[] = [];
  let tokens = 0;
  for (const place of places) {
    const more = tokensEach[place]!;
    if (current.length === batch || (current.length > 0 && tokens + more > tokensMax)) {
      batches.push(current);
      current = [];
      tokens = 0;
    }
    current.push(place);
    tokens += more;
  }
  if (current.length > 0) batches.push(current);
  return batches;
}

/** One request's vectors as they come in, in whatever order and from whichever target; all of one length. */
export class GatheredVectors {
  /** Null until the first vectors are there. */
  rows: Float64Array<ArrayBuffer> | null = null;
  inputTokens = 0;
  #size: number | null;
  readonly #answered: boolean[];

  /** `size`: as it was asked for or declared; null takes what comes first. */
  constructor(count: number, size: number | null) {
    this.#answered = new Array<boolean>(count).fill(false);
    this.#size = size;
  }

  get size(): number {
    return this.#size ?? 0;
  }

  /** Places of inputs without a vector yet. */
  missing(): number[] {
    return this.#answered.flatMap((answered, place) => (answered ? [] : [place]));
  }

  /** The vectors of these inputs; a Fault when they are not as long as all others. */
  add(places: readonly number[], { rows, size }: Pick<DecodedEmbeddings, 'rows' | 'size'>): Fault | null {
    this.#size ??= size;
    if (size !== this.#size) return malformed(`answered vectors of ${size} dimensions where ${this.#size} were due`);
    const count = this.#answered.length;
    if (count * size > numbersMax) return malformed('answered longer vectors than an answer can hold');
    if (places.length === count) this.rows = rows;
    else {
      this.rows ??= new Float64Array(count * size);
      places.forEach((place, i) => {
        this.rows!.set(rows.subarray(i * size, (i + 1) * size), place * size);
      });
    }
    for (const place of places) this.#answered[place] = true;
    return null;
  }
}

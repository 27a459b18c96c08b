import type { DecodedEmbeddings } from '../../../formats/embeddings/format.ts';
import { malformed } from '../../../formats/embeddings/read-rows.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { EmbeddingTarget } from '../../../routing/target.ts';

/** Tokens of one call where no bound is known: some 1 MB of text, which is written out without holding up the loop. */
const callTokensMax = 250_000;
/** Memory for the vectors of one request: 2,048 of 8,192 numbers that go out unchanged. */
const bytesMax = 128 * 1024 * 1024;

/** `double`: as upstreams wrote them, to be written again; `single`: as vectors are kept. */
export type Precision = 'double' | 'single';

/** Places of inputs, in order, in as many calls as the target needs. */
export function batchesOf(
  places: readonly number[],
  tokensEach: readonly number[],
  { batch, batchTokens }: Pick<EmbeddingTarget, 'batch' | 'batchTokens'>,
): number[][] {
  const tokensMax = batchTokens ?? callTokensMax;
  const batches: number[][] = [];
  let current: number[] = [];
  let tokens = 0;
  for (const place of places) {
    const more = tokensEach[place] ?? 0;
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

/** One request's vectors as they come, in any order and from any target; all of one length. */
export class GatheredVectors {
  /** Null until the first vectors are there. */
  rows: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer> | null = null;
  inputTokens = 0;
  #size: number | null;
  readonly #precision: Precision;
  readonly #answered: boolean[];

  /** `size`: requested or declared; null takes the first one that comes. */
  constructor(count: number, size: number | null, precision: Precision) {
    this.#precision = precision;
    this.#answered = new Array<boolean>(count).fill(false);
    this.#size = size;
  }

  get size(): number {
    return this.#size ?? 0;
  }

  /** Places of inputs without a vector yet: of all, or of these. */
  missing(places: readonly number[] = [...this.#answered.keys()]): number[] {
    return places.filter((place) => !this.#answered[place]);
  }

  /** The vectors of these inputs; a Fault when they are not as long as all others. */
  add(places: readonly number[], { rows, size }: Pick<DecodedEmbeddings, 'rows' | 'size'>): Fault | null {
    this.#size ??= size;
    if (size !== this.#size) return malformed(`returned vectors of ${size} dimensions instead of ${this.#size}`);
    const count = this.#answered.length;
    const numbers = count * size;
    if (numbers * (this.#precision === 'double' ? 8 : 4) > bytesMax) {
      return malformed('returned longer vectors than an answer can hold');
    }
    if (places.length === count && this.#precision === 'double') this.rows = rows;
    else {
      this.rows ??= this.#precision === 'double' ? new Float64Array(numbers) : new Float32Array(numbers);
      for (const [i, place] of places.entries()) this.rows.set(rows.subarray(i * size, (i + 1) * size), place * size);
    }
    for (const place of places) this.#answered[place] = true;
    return null;
  }
}

/** Vectors of texts, in their order; rejects where there are none. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Examples of one call. */
const batchMax = 100;
/** A model may have been replaced since the examples were embedded. */
const renewMs = 10 * 60_000;
/** After a failure the model is left alone for so long. */
const retryMs = 1_000;

/**
 * Examples of classes as vectors of length one. They are embedded at the first question, and again now and then; meanwhile
 * those of before count.
 */
export class EmbeddedExamples {
  readonly #classes: readonly (readonly string[])[];
  readonly #embed: Embed;
  readonly #nowMs: () => number;
  #vectors: readonly (readonly Float32Array[])[] | null = null;
  #embedding: Promise<void> | null = null;
  #againMs = Number.NEGATIVE_INFINITY;

  constructor(classes: readonly (readonly string[])[], embed: Embed, nowMs: () => number) {
    this.#classes = classes;
    this.#embed = embed;
    this.#nowMs = nowMs;
  }

  /** Resolves to the vectors of each class; rejects while there are none. */
  async vectors(): Promise<readonly (readonly Float32Array[])[]> {
    if (this.#embedding === null && this.#nowMs() >= this.#againMs) this.#embedding = this.#renew();
    if (this.#vectors === null) await this.#embedding;
    if (this.#vectors === null) throw new Error('the examples have no vectors');
    return this.#vectors;
  }

  async #renew(): Promise<void> {
    try {
      const texts = this.#classes.flat();
      const all: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += batchMax) {
        all.push(...(await this.#embed(texts.slice(at, at + batchMax))).map(normalised));
      }
      let from = 0;
      this.#vectors = this.#classes.map(({ length }) => {
        from += length;
        return all.slice(from - length, from);
      });
      this.#againMs = this.#nowMs() + renewMs;
    } catch {
      this.#againMs = this.#nowMs() + retryMs;
    } finally {
      this.#embedding = null;
    }
  }
}

/** The vector with length one. */
export function normalised(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => value / length);
}

/** Cosine of two vectors of length one; NaN for vectors of different models, which are near nothing. */
export function similarity(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return Number.NaN;
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

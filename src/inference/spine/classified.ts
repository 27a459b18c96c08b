import type { RouteConfig } from '../../config/schema.ts';
import type { InnerCalls } from './answer-cache.ts';

export type ClassifyConfig = NonNullable<RouteConfig['classify']>;

/** The model of the nearest class; null: no class is clearly nearest, or there was no vector in time. */
export interface Classified {
  model: string | null;
  /** Similarity of the text and the class, at most 1; null: there was no vector. */
  score: number | null;
}

/** Asks for vectors of texts; null: there are none in so many milliseconds. */
export type EmbedTexts = InnerCalls['embed'];

/** Characters of a text that say enough about it. */
const judgedChars = 2_000;
/** Examples of one call. */
const batchMax = 100;
/** The examples are embedded once, not within a request's deadline. */
const examplesMsMax = 30_000;
/** A request does not wait for examples that were not embedded: the next try is then. */
const retryMs = 10_000;
/** A model may have been replaced since the examples were embedded. */
const examplesCachedMs = 60 * 60_000;
/** Examples of a class that count: one odd example decides nothing. */
const nearestOf = 3;

/** Vectors of length one. */
type Vectors = readonly Float32Array[];

/** Vectors of the examples by class, from the first request on; of rules that are gone they go too. */
interface Examples {
  vectors: readonly Vectors[] | null;
  embedding: Promise<void> | null;
  /** Wall clock. */
  againMs: number;
}

const known = new WeakMap<ClassifyConfig, Examples>();

/** Compares a text with the examples of each class. Never rejects. */
export async function classified(
  classify: ClassifyConfig,
  text: string,
  embed: EmbedTexts,
  nowMs: number,
): Promise<Classified> {
  const nothing = { model: null, score: null };
  const shown = text.trim().slice(0, judgedChars);
  if (shown === '') return nothing;
  const { embedding_model, deadline, classes, margin } = classify;
  const examples = known.get(classify) ?? { vectors: null, embedding: null, againMs: 0 };
  known.set(classify, examples);
  if (nowMs >= examples.againMs) embedExamples(classify, examples, embed, nowMs);
  const [embedded] = await Promise.all([
    embed(embedding_model, [shown], deadline).catch(() => null),
    examples.vectors === null ? within(deadline, examples.embedding) : null,
  ]);
  const vector = embedded?.[0] === undefined ? undefined : normalised(embedded[0]);
  const { vectors } = examples;
  if (vector === undefined || vectors === null) return nothing;
  const scores = classes
    .map(({ model }, at) => ({ model, score: nearness(vector, vectors[at] ?? []) }))
    .sort((one, other) => other.score - one.score);
  const [best, second] = scores;
  if (best === undefined || second === undefined || Number.isNaN(best.score)) return nothing;
  return { model: best.score - second.score >= margin ? best.model : null, score: best.score };
}

/** Begins to embed the examples; requests of the meantime go by those of before. */
function embedExamples(
  { embedding_model, classes }: ClassifyConfig,
  examples: Examples,
  embed: EmbedTexts,
  nowMs: number,
) {
  examples.againMs = nowMs + examplesCachedMs;
  const texts = classes.flatMap((one) => one.examples);
  const work = async () => {
    const all: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += batchMax) {
      const some = await embed(embedding_model, texts.slice(at, at + batchMax), examplesMsMax);
      if (some === null) throw new Error('the examples have no vectors');
      all.push(...some.map(normalised));
    }
    let from = 0;
    examples.vectors = classes.map((one) => {
      const to = from + one.examples.length;
      const vectors = all.slice(from, to);
      from = to;
      return vectors;
    });
  };
  examples.embedding = work()
    .catch(() => {
      examples.againMs = nowMs + retryMs;
    })
    .finally(() => {
      examples.embedding = null;
    });
}

/** Mean similarity to the nearest examples. NaN: the model's vectors have another length than those of the examples. */
function nearness(vector: Float32Array, examples: Vectors): number {
  const best = examples
    .map((example) => product(vector, example))
    .sort((one, other) => other - one)
    .slice(0, nearestOf);
  return best.reduce((sum, score) => sum + score, 0) / best.length;
}

function normalised(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => value / length);
}

function product(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return Number.NaN;
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

async function within(ms: number, work: Promise<void> | null): Promise<void> {
  if (work === null) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

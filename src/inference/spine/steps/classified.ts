import type { RouteConfig } from '../../../config/schema.ts';
import { EmbeddedExamples, normalised, similarity } from '../../../kernel/embedded-examples.ts';
import { withinMs } from '../../../kernel/within-ms.ts';
import type { InnerCalls } from '../answer-cache.ts';

export type ClassifyConfig = NonNullable<RouteConfig['classify']>;

/** The model of the nearest class; null: no class is clearly nearest, or there was no vector in time. */
export interface Classified {
  model: string | null;
  /** Similarity of the text and the class, at most 1; null: there was no vector. */
  score: number | null;
}

/** Characters of a text that say enough about it. */
const judgedChars = 2_000;
/** The examples are embedded once, not within a request's deadline. */
const examplesMsMax = 30_000;
/** Examples of a class that count: one odd example decides nothing. */
const nearestOf = 3;

/** Examples by their rule; those of a rule that is gone go with it. */
const known = new WeakMap<ClassifyConfig, EmbeddedExamples>();

/** Compares a text with the examples of each class, as `embed` places them. Never rejects. */
export async function classified(
  classify: ClassifyConfig,
  text: string,
  embed: InnerCalls['embed'],
): Promise<Classified> {
  const { embedding_model: model, deadline, classes, margin } = classify;
  const shown = text.trim().slice(0, judgedChars);
  const embedding = shown === '' ? null : embed(model, [shown], deadline).catch(() => null);
  const inTime = examplesOf(classify, embed)
    .vectors()
    .catch(() => null);
  const [embedded, examples] = await Promise.all([embedding, withinMs(deadline, inTime, null)]);
  const [vector] = embedded ?? [];
  if (vector === undefined || examples === null) return { model: null, score: null };
  const direction = normalised(vector);
  const scores = examples.map((each, at) => ({ model: classes[at]?.model ?? null, score: nearness(direction, each) }));
  const [best, second] = scores.sort((one, other) => other.score - one.score);
  if (best === undefined || second === undefined || Number.isNaN(best.score)) return { model: null, score: null };
  return best.score - second.score >= margin ? best : { ...best, model: null };
}

function examplesOf(classify: ClassifyConfig, embed: InnerCalls['embed']): EmbeddedExamples {
  let examples = known.get(classify);
  if (examples === undefined) {
    const vectorsOf = async (texts: readonly string[]) => {
      const vectors = await embed(classify.embedding_model, texts, examplesMsMax);
      if (vectors === null) throw new Error('the embedding model gave no vectors');
      return vectors;
    };
    const texts = classify.classes.map((one) => one.examples);
    examples = new EmbeddedExamples(texts, vectorsOf, () => performance.now());
    known.set(classify, examples);
  }
  return examples;
}

/** Mean similarity to the nearest examples. */
function nearness(vector: Float32Array, examples: readonly Float32Array[]): number {
  const scores = examples.map((example) => similarity(vector, example));
  const best = scores.sort((one, other) => other - one).slice(0, nearestOf);
  return best.reduce((sum, score) => sum + score, 0) / best.length;
}

import { BadAnswer, type OutsideCheck, type OutsideFinding } from './outside-check.ts';
import { sentencesIn } from './sentences.ts';

/** Vectors of texts, in their order; rejects where there are none. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Characters that are judged as one: a topic shows in some sentences, and is lost in a page. */
const pieceChars = 400;
const piecesMax = 128;
/** A model may have been replaced since the examples were embedded. */
const examplesCachedMs = 10 * 60_000;

/** The nearest example of a text; `topic`: null where it says none. */
export interface NearestExample {
  score: number;
  topic: string | null;
}

/**
 * Compares pieces of texts with examples of topics: a piece is of a topic where its nearest example has at least the
 * score `threshold`. The service's answer is the nearest example of each piece; null: there is none. `otherwise`: the
 * topic of examples that say none.
 */
export function topicsCheck(threshold: number, otherwise: string): OutsideCheck {
  return ({ texts }) => {
    const pieces = texts.flatMap(({ text }, at) => piecesOf(text).map((place) => ({ text: at, ...place })));
    if (pieces.length === 0) return [];
    if (pieces.length > piecesMax) throw new BadAnswer('the texts are longer than the check looks at');
    return [
      {
        url: '',
        body: pieces.map(({ text, start, end }) => (texts[text]?.text ?? '').slice(start, end)),
        read(answer) {
          const nearest = answer as readonly (NearestExample | null)[];
          const findings = pieces.flatMap((at, index): OutsideFinding[] => {
            const example = nearest[index] ?? null;
            return example !== null && example.score >= threshold ? [{ kind: example.topic ?? otherwise, at }] : [];
          });
          return { findings };
        },
      },
    ];
  };
}

/** Looks up texts among examples of the configuration. It embeds these at first and now and then. */
export function nearestExamples(
  topics: Readonly<Record<string, readonly string[]>>,
  embed: Embed,
  nowMs: () => number,
): (texts: readonly string[]) => Promise<readonly NearestExample[]> {
  const names = Object.entries(topics).flatMap(([name, examples]) => examples.map(() => name));
  let cachedExamples: { examples: Awaited<ReturnType<Embed>>; untilMs: number } | null = null;
  return async (texts) => {
    const toEmbed = cachedExamples === null || cachedExamples.untilMs < nowMs() ? Object.values(topics).flat() : [];
    const all = await embed([...toEmbed, ...texts]);
    if (toEmbed.length > 0)
      cachedExamples = { examples: all.slice(0, toEmbed.length), untilMs: nowMs() + examplesCachedMs };
    const examples = cachedExamples?.examples ?? [];
    return all.slice(toEmbed.length).map((vector) => {
      const [best, score] = nearest(vector, examples);
      return { score, topic: names[best] ?? null };
    });
  };
}

/** Sentences, joined up to a piece. */
function piecesOf(text: string): { start: number; end: number }[] {
  const pieces: { start: number; end: number }[] = [];
  for (const { start, end } of sentencesIn(text)) {
    const last = pieces.at(-1);
    if (last !== undefined && end - last.start <= pieceChars) last.end = end;
    else pieces.push({ start, end });
  }
  return pieces;
}

function nearest(vector: readonly number[], examples: Awaited<ReturnType<Embed>>): [at: number, score: number] {
  let best: [number, number] = [-1, Number.NEGATIVE_INFINITY];
  for (const [at, example] of examples.entries()) {
    const score = cosine(vector, example);
    if (score > best[1]) best = [at, score];
  }
  return best;
}

/** NaN for vectors of different models, which are near nothing. */
function cosine(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) return Number.NaN;
  let [dot, ones, others] = [0, 0, 0];
  for (const [at, value] of one.entries()) {
    const beside = other[at] ?? 0;
    dot += value * beside;
    ones += value * value;
    others += beside * beside;
  }
  return dot / Math.sqrt(ones * others);
}

import { BadAnswer, type OutsideCheck, type OutsideFinding } from './outside-check.ts';
import { sentencesIn } from './sentences.ts';

/** Vectors of texts, in their order; rejects where there are none. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Characters that are judged as one: a topic shows in some sentences, and is lost in a page. */
const pieceChars = 400;
const piecesMax = 128;
/** A model may have been replaced since the examples were embedded. */
const examplesKeptMs = 10 * 60_000;

/** Compares pieces of texts with examples of topics, by an embedding model. `threshold`: cosine of the nearest example. */
export function topicsCheck(topics: Readonly<Record<string, readonly string[]>>, threshold: number): OutsideCheck {
  const names = Object.entries(topics).flatMap(([name, examples]) => examples.map(() => name));
  return ({ texts }) => {
    const pieces = texts.flatMap(({ text }, at) => piecesOf(text).map((place) => ({ text: at, ...place })));
    if (pieces.length === 0) return [];
    if (pieces.length > piecesMax) throw new BadAnswer('the texts are longer than the check looks at');
    return [
      {
        url: '',
        body: pieces.map(({ text, start, end }) => (texts[text]?.text ?? '').slice(start, end)),
        read(answer) {
          const { examples, vectors } = answer as Embedded;
          const findings = pieces.flatMap((at, index): OutsideFinding[] => {
            const [best, score] = nearest(vectors[index] ?? [], examples);
            return score >= threshold ? [{ kind: names[best] ?? '', at }] : [];
          });
          return { findings };
        },
      },
    ];
  };
}

interface Embedded {
  examples: Awaited<ReturnType<Embed>>;
  vectors: Awaited<ReturnType<Embed>>;
}

/** Embeds texts, and the examples at first and now and then. */
export function embedBeside(
  topics: Readonly<Record<string, readonly string[]>>,
  embed: Embed,
  nowMs: () => number,
): (texts: readonly string[]) => Promise<Embedded> {
  let kept: { examples: Embedded['examples']; untilMs: number } | null = null;
  return async (texts) => {
    const wanted = kept === null || kept.untilMs < nowMs() ? Object.values(topics).flat() : [];
    const all = await embed([...wanted, ...texts]);
    if (wanted.length > 0) kept = { examples: all.slice(0, wanted.length), untilMs: nowMs() + examplesKeptMs };
    return { examples: kept?.examples ?? [], vectors: all.slice(wanted.length) };
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

function nearest(vector: readonly number[], examples: Embedded['examples']): [at: number, score: number] {
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

import { type Embed, EmbeddedExamples, normalised, similarity } from '../../kernel/embedded-examples.ts';
import { BadAnswer, type OutsideCheck, type OutsideFinding } from './outside-check.ts';
import { sentencesIn } from './sentences.ts';

/** Characters that are judged as one: a topic shows in some sentences, and is lost in a page. */
const pieceChars = 400;
const piecesMax = 128;

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

/** Looks up texts among examples of the configuration. `embedTexts` embeds the texts, which are a caller's. */
export function nearestExamples(
  topics: Readonly<Record<string, readonly string[]>>,
  embed: Embed,
  nowMs: () => number,
): (texts: readonly string[], embedTexts: Embed) => Promise<readonly NearestExample[]> {
  const names = Object.keys(topics);
  const examples = new EmbeddedExamples(Object.values(topics), embed, nowMs);
  return async (texts, embedTexts) => {
    const [classes, vectors] = await Promise.all([examples.vectors(), embedTexts(texts)]);
    return vectors.map((vector) => {
      const direction = normalised(vector);
      const nearest: NearestExample = { score: Number.NEGATIVE_INFINITY, topic: null };
      for (const [at, each] of classes.entries()) {
        for (const example of each) {
          const score = similarity(direction, example);
          if (score > nearest.score) Object.assign(nearest, { score, topic: names[at] ?? null });
        }
      }
      return nearest;
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

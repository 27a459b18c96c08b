import { BadAnswer, type OutsideCheck } from './outside-check.ts';
import { sentencesIn } from './sentences.ts';

/** Shorter sentences claim little, such as a greeting. */
const claimCharsMin = 25;
const claimsMax = 128;

/**
 * Looks up each sentence of an answer in a collection, whose nearest point has to have at least the score `threshold`.
 * Questions and short sentences pass. The service's answer is the nearest point of each claim; null: there is none.
 */
export function groundingCheck(threshold: number): OutsideCheck {
  return ({ texts }) => {
    const sentences = texts.flatMap(({ text }, at) =>
      sentencesIn(text).map(({ start, end }) => ({
        at: { text: at, start, end },
        says: text.slice(start, end).trim(),
      })),
    );
    const claims = sentences
      .map((one, nth) => ({ ...one, nth }))
      .filter(({ says }) => says.length >= claimCharsMin && !/[?？]["')\]]*$/.test(says));
    if (claims.length > claimsMax) throw new BadAnswer('the answer has more sentences than the check looks up');
    const read = (answer: unknown) => {
      const points = answer as readonly ({ score: number } | null)[];
      const isUnsupported = (_: unknown, index: number) =>
        (points[index]?.score ?? Number.NEGATIVE_INFINITY) < threshold;
      const findings = claims.filter(isUnsupported).map(({ at, nth }) => ({ kind: 'unsupported', at, nth }));
      return { findings, sentences: sentences.length };
    };
    return [{ url: '', body: claims.map(({ says }) => says), read }];
  };
}

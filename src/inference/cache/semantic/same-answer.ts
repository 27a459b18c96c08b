import type { InnerCalls } from '../../spine/answer-cache.ts';
import { type CachedAnswer, cachedEvents } from '../packed-entry.ts';
import { cosine, vectorsOf } from './known-questions.ts';

/** An answer of at most so many characters is the same only where its normal form is. */
const shortCharsMax = 80;
/** Longer answers that are as near as this, with the same numbers, are the same. */
const sameFrom = 0.95;

/** The words of an answer; null: it has something else, which cannot be compared. */
export function textOfAnswer({ answer }: CachedAnswer): string | null {
  const events = cachedEvents(answer);
  if (events === null) return null;
  let text = '';
  for (const event of events) {
    if (event.type === 'text-delta' && event.choice === 0) text += event.text;
    else if (event.type === 'tool-call-start' || event.type === 'refusal-delta') return null;
  }
  return text === '' ? null : text;
}

/** Whether both answers to a question say the same; null: nobody could tell. */
export async function isSameAnswer(
  calls: InnerCalls,
  models: { model: string; judge?: string | undefined },
  question: string,
  [one, other]: readonly [string, string],
): Promise<boolean | null> {
  if (normalForm(one) === normalForm(other)) return true;
  if (models.judge !== undefined) return calls.judge(models.judge, question, [one, other]);
  if (Math.min(one.length, other.length) <= shortCharsMax) return false;
  if (numbersIn(one) !== numbersIn(other)) return false;
  const [first, second] = vectorsOf(await calls.embed(models.model, [one, other], comparedMsMax));
  return first === undefined || second === undefined ? null : cosine(first, second) >= sameFrom;
}

/** Nobody waits for it. */
const comparedMsMax = 30_000;

export function normalForm(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}+\-*/=<>%$€£°#&]+/gu, ' ')
    .trim();
}

function numbersIn(text: string): string {
  return [...new Set(text.match(/\d+(?:[.,]\d+)*/g) ?? [])].sort().join(' ');
}

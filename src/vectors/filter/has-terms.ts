import { termsOf } from '../text/text-terms.ts';
import type { FieldTest } from './filter.ts';

/** Whether a text has the given terms. No text has an empty list of terms. */
export function hasTerms(text: string, { terms, together, options }: Extract<FieldTest, { kind: 'terms' }>): boolean {
  if (terms.length === 0) return false;
  const there = termsOf(text, options);
  const isBeginning = options.tokenizer === 'prefix';
  if (together === 'anywhere') return isBeginning ? hasBeginnings(there, terms) : hasAll(new Set(there), terms);
  if (!isBeginning) return !runEnds(there, terms).next().done;
  // The last word of a phrase may be a beginning; the others are whole.
  const last = terms.at(-1)!;
  for (const end of runEnds(there, terms.slice(0, -1))) if (there[end]?.startsWith(last)) return true;
  return false;
}

function hasAll(there: ReadonlySet<string>, terms: readonly string[]): boolean {
  return terms.every((term) => there.has(term));
}

/** Looks at each word once, however many beginnings are asked for. */
function hasBeginnings(there: readonly string[], terms: readonly string[]): boolean {
  const missing = new Set(terms);
  const lengths = [...new Set(terms.map(({ length }) => length))];
  for (const word of there) {
    for (const length of lengths) if (length <= word.length) missing.delete(word.slice(0, length));
    if (missing.size === 0) return true;
  }
  return false;
}

/** Ends of each run of the terms in a text, by Knuth, Morris and Pratt: no term of the text is read twice. */
function* runEnds(there: readonly string[], terms: readonly string[]): Generator<number> {
  const shorter = shorterRuns(terms);
  let matched = 0;
  if (terms.length === 0) yield 0;
  for (const [at, term] of there.entries()) {
    while (matched > 0 && terms[matched] !== term) matched = shorter[matched - 1]!;
    if (terms[matched] === term) matched += 1;
    if (matched < terms.length) continue;
    yield at + 1;
    matched = terms.length === 0 ? 0 : shorter[matched - 1]!;
  }
}

/** For each beginning of the terms, how many of its last ones are the first ones, too. */
function shorterRuns(terms: readonly string[]): number[] {
  const shorter = [0];
  for (let at = 1; at < terms.length; at += 1) {
    let length = shorter[at - 1]!;
    while (length > 0 && terms[length] !== terms[at]) length = shorter[length - 1]!;
    shorter.push(terms[length] === terms[at] ? length + 1 : 0);
  }
  return shorter;
}

import { termsOf } from '../text/text-terms.ts';
import type { FieldTest } from './filter.ts';

/** Whether a text has the terms that are looked for. No terms are in no text. */
export function hasTerms(text: string, { terms, together, options }: Extract<FieldTest, { kind: 'terms' }>): boolean {
  if (terms.length === 0) return false;
  const there = termsOf(text, options);
  const isBeginning = options.tokenizer === 'prefix';
  if (together === 'anywhere') return isBeginning ? hasBeginnings(there, terms) : hasAll(new Set(there), terms);
  const isTerm = (term: string, asked: string) => (isBeginning ? term.startsWith(asked) : term === asked);
  for (let start = 0; start + terms.length <= there.length; start++) {
    if (terms.every((term, i) => isTerm(there[start + i]!, term))) return true;
  }
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

import { termsOf } from '../text/text-terms.ts';
import type { FieldTest } from './filter.ts';

/** Whether a text has the terms that are looked for. No terms are in no text. */
export function hasTerms(text: string, { terms, together, options }: Extract<FieldTest, { kind: 'terms' }>): boolean {
  if (terms.length === 0) return false;
  const there = termsOf(text, options);
  if (together === 'anywhere') {
    const known = new Set(there);
    return terms.every((term) => known.has(term));
  }
  for (let start = 0; start + terms.length <= there.length; start++) {
    if (terms.every((term, i) => there[start + i] === term)) return true;
  }
  return false;
}

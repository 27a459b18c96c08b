import { queryTermsOf, type TextOptions } from '../text/text-terms.ts';
import type { Condition, FieldTest, Filter } from './filter.ts';

/** The text index of a key path; null: it has none, and texts are matched as substrings. */
export type TextIndexes = (key: string) => { options: TextOptions; phrases: boolean } | null;

/** The filter as text indexes understand it: `match.text` asks for terms. The same filter where none concerns it. */
export function withTextIndexes(filter: Filter, indexes: TextIndexes): Filter {
  const all = (conditions: readonly Condition[]) => conditions.map((one) => conditionWith(one, indexes));
  const { minShould } = filter;
  return {
    must: all(filter.must),
    should: all(filter.should),
    mustNot: all(filter.mustNot),
    minShould: minShould === null ? null : { ...minShould, conditions: all(minShould.conditions) },
  };
}

function conditionWith(condition: Condition, indexes: TextIndexes): Condition {
  if (condition.kind === 'filter') return { kind: 'filter', filter: withTextIndexes(condition.filter, indexes) };
  if (condition.kind !== 'field' || !condition.tests.some(({ kind }) => kind === 'text')) return condition;
  const index = indexes(condition.key.text);
  if (index === null) return condition;
  return { ...condition, tests: condition.tests.map((test) => testWith(test, index)) };
}

/** A phrase that the index does not keep is matched as a substring, and `match.substring` always is. */
function testWith(test: FieldTest, { options, phrases }: NonNullable<ReturnType<TextIndexes>>): FieldTest {
  if (test.kind !== 'text' || test.mode === 'substring' || (test.mode === 'phrase' && !phrases)) return test;
  const together = test.mode === 'phrase' ? 'phrase' : 'anywhere';
  return { kind: 'terms', terms: queryTermsOf(test.text, options), together, options };
}

import { contains } from '../../filter/contains.ts';
import type { FieldTest, Scalar } from '../../filter/filter.ts';
import { hasTerms } from '../../filter/has-terms.ts';
import { inRange, valueHolds } from '../../filter/matches.ts';
import { type Dictionary, isLong, longCode, nullCode } from './dictionary.ts';

/** Results of tests on a code: `sure` it passes, `unsure` (the row must be read), or 0. */
export const sure = 2;
export const unsure = 1;

/** By code. The tests are OR-ed; `values-count` is none of a value, and passed over. */
export function hitsOf(tests: readonly FieldTest[], dictionary: Dictionary): Uint8Array {
  const hits = new Uint8Array(dictionary.end);
  for (const test of tests) mark(test, dictionary, hits);
  hits[0] = 0;
  return hits;
}

function mark(test: FieldTest, dictionary: Dictionary, hits: Uint8Array): void {
  switch (test.kind) {
    case 'value':
      return markValue(test.value, dictionary, hits);
    case 'any':
      for (const value of test.values) markValue(value, dictionary, hits);
      return;
    case 'except':
      return markExcept(test.values, dictionary, hits);
    case 'text':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && contains(value, test.text);
      });
    case 'prefix':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && value.startsWith(test.prefix);
      });
    case 'terms':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && hasTerms(value, test);
      });
    case 'range':
      return markWhere(hits, (code) => inRange(test, dictionary.number(code)));
    case 'datetime':
      return markWhere(hits, (code) => inRange(test, dictionary.time(code)));
    case 'values-count':
      return;
    default:
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'object' && valueHolds(test, { ...value });
      });
  }
}

function markValue(value: Scalar, dictionary: Dictionary, hits: Uint8Array): void {
  if (isLong(value)) raise(hits, longCode, unsure);
  else hits[dictionary.find(value)] = sure;
}

/** Every value but null passes unless it is listed. */
function markExcept(values: ReadonlySet<Scalar>, dictionary: Dictionary, hits: Uint8Array): void {
  const listed = new Set([nullCode]);
  let longListed = false;
  for (const value of values) {
    if (isLong(value)) longListed = true;
    else listed.add(dictionary.find(value));
  }
  markWhere(hits, (code) => !listed.has(code) && !(longListed && code === longCode));
  if (longListed) raise(hits, longCode, unsure);
}

function markWhere(hits: Uint8Array, holds: (code: number) => boolean): void {
  for (let code = 1; code < hits.length; code++) if (holds(code)) hits[code] = sure;
}

function raise(hits: Uint8Array, code: number, level: number): void {
  hits[code] = Math.max(hits[code]!, level);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { englishText, queryTermsOf, type TextOptions, termsOf } from '../text/text-terms.ts';
import { hasTerms } from './has-terms.ts';

const words: TextOptions = { ...englishText, stopWords: new Set(), stemmer: null };
const beginnings: TextOptions = { ...words, tokenizer: 'prefix' };

function has(text: string, phrase: string, options: TextOptions): boolean {
  return hasTerms(text, { kind: 'terms', terms: queryTermsOf(phrase, options), together: 'phrase', options });
}

test('a phrase is where its words stand one after another, whatever they repeat', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 12 }).map((list) => list.join(' '));
  fc.assert(
    fc.property(texts, texts, (text, phrase) => {
      const [there, queried] = [termsOf(text, words), termsOf(phrase, words)];
      const starts = there.some((_, from) => queried.every((term, at) => there[from + at] === term));
      assert.equal(has(text, phrase, words), queried.length > 0 && starts);
      const begins = there.some((_, from) =>
        queried.every((term, at) =>
          at < queried.length - 1 ? there[from + at] === term : there[from + at]?.startsWith(term),
        ),
      );
      assert.equal(has(text, phrase, beginnings), queried.length > 0 && begins);
    }),
  );
});

test('the last word of a phrase may be a beginning where the index has beginnings', () => {
  assert.ok(has('Hello wide world', 'hello wi', beginnings));
  assert.ok(!has('Hello wide world', 'hel wide', beginnings));
  assert.ok(!has('Hello wide world', 'hello wi', words));
});

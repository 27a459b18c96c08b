import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBeginning, searchedText, wordsInQuery } from './page-words.ts';

test('a query is its words, each once, at most 32 of them', () => {
  const words = ['red', 'pandas', 'and', 'c', 'überfluß', '日本'];
  assert.deepEqual(wordsInQuery('Red "pandas" AND red* c++ Überfluß 日本'), words);
  assert.equal(wordsInQuery(Array.from({ length: 99 }, (_, at) => `w${at}`).join(' ')).length, 32);
  assert.equal(wordsInQuery('x'.repeat(500))[0]!.length, 64);
  assert.equal(wordsInQuery('字'.repeat(10) + '\u{20000}'.repeat(10)).length, 3);
});

test('scripts without spaces are pairs of characters, in queries as in texts', () => {
  assert.deepEqual(wordsInQuery('Node.js入門ガイド v24、한국어'), [
    ...['node', 'js', '入門', '門ガ', 'ガイ', 'イド', 'v24', '한국', '국어'],
  ]);
  assert.equal(searchedText('Das 日本語。x本y'), 'Das  日本 本語 語 。x 本 y');
  assert.equal(searchedText('no such script'), 'no such script');
  // Characters of two code units are one.
  assert.equal(searchedText('\u{20000}\u{20001}').trim(), '\u{20000}\u{20001} \u{20001}');
  assert.deepEqual(['本', '\u{20000}', '日本', 'x', '1', ''].map(isBeginning), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('of a page no more pairs are words than a database bears', () => {
  const text = searchedText(`${'一'.repeat(100_000)} tail 二三`);
  assert.equal(text.trim().split(/\s+/).length, 20_001, 'pairs, the last character, and what comes in other scripts');
});

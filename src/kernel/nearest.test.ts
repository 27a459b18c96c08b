import assert from 'node:assert/strict';
import test from 'node:test';
import { didYouMean, nearest } from './nearest.ts';

test('the nearest name is found through typing errors, swaps, case and beginnings', () => {
  const names = ['first_token', 'openai', 'openai-eu', 'port', 'priority', 'price'];
  for (const [word, found] of [
    ['first_tokn', 'first_token'],
    ['opneai', 'openai'],
    ['OpenAI', 'openai'],
    ['prot', 'port'],
    ['prio', 'priority'],
    ['openai-eu-west', 'openai'],
    ['xyz', null],
    ['p', null],
    ['', null],
  ] as const) {
    assert.equal(nearest(word, names), found, word);
  }
});

test('the hint is empty when nothing is near', () => {
  assert.equal(didYouMean('prot', ['port']), " (did you mean 'port'?)");
  assert.equal(didYouMean('zzzz', ['port']), '');
  assert.equal(didYouMean('x'.repeat(10_000), ['y'.repeat(10_000)]), '');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../../../test/machine-load.ts';
import { filteredJson } from './filtered-text.ts';

test('a completion of many choices with log probabilities passes a filter at once', () => {
  const choices = Array.from({ length: 20_000 }, (_, index) => ({
    index,
    text: 'made',
    logprobs: { tokens: ['made'] },
  }));
  const answer = { choices };
  const startedMs = performance.now();
  const passed = filteredJson(
    () => ({ push: () => '<WORD_1>', end: () => '' }),
    JSON.stringify(answer),
    answer,
    'assistant',
  );
  assertWithin(performance.now() - startedMs, 500);
  assert.deepEqual(
    JSON.parse(passed).choices,
    choices.map(({ index }) => ({ index, text: '<WORD_1>', logprobs: null })),
  );
});

test('a member with the name of a place is read like all others', () => {
  const answer = { choices: [{ index: 0, text: 'Hi', logprobs: { tokens: ['Hi'] } }], 'choices,0,logprobs': 'by Ann' };
  const mask = () => ({ push: (text: string) => text.replace('Ann', '<NAME_1>'), end: () => '' });
  assert.match(filteredJson(mask, JSON.stringify(answer), answer, 'assistant'), /"choices,0,logprobs":"by <NAME_1>"/);
});

test('an argument that is named as the proof of a thought stays where a filter changes the others', () => {
  const inputs = [
    { signature: 'def f(x)', author: 'Ann' },
    { signature: 'def f(x)', file: { author: 'Ann' } },
  ];
  const mask = () => ({ push: (text: string) => text.replace('Ann', '<NAME_1>'), end: () => '' });
  for (const input of inputs) {
    const json = JSON.stringify(input);
    assert.equal(filteredJson(mask, json, input, 'tool-arguments'), json.replace('Ann', '<NAME_1>'));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { optionsOf } from './provider-options.ts';

const reasonings: readonly [JsonObject, object | null][] = [
  [{ openai: { reasoningEffort: 'high' }, anthropic: { effort: 'low' } }, { effort: 'high' }],
  [{ anthropic: { effort: 'low', thinking: { type: 'disabled' } } }, { effort: 'low' }],
  [{ openai: { reasoningEffort: 3 } }, null],
  [{ anthropic: { thinking: { type: 'disabled', budgetTokens: 9 } } }, { effort: 'none' }],
  [{ anthropic: { thinking: { type: 'enabled', budgetTokens: 2_048 } } }, { budgetTokens: 2_048 }],
  [{ anthropic: { thinking: { type: 'adaptive' } } }, { effort: 'medium' }],
  [{ google: { thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 9 } } }, { effort: 'low' }],
  [{ google: { thinkingConfig: { thinkingBudget: 9 } } }, { budgetTokens: 9 }],
  [{ google: { thinkingConfig: { thinkingBudget: 0 } } }, { effort: 'none' }],
  [{ google: { thinkingConfig: { thinkingBudget: -1 } } }, { effort: 'medium' }],
  [{ google: { thinkingConfig: { includeThoughts: true } } }, null],
  [{ google: { thinkingConfig: 'low' } }, null],
  [{}, null],
];

for (const [options, reasoning] of reasonings) {
  test(`a model thinks as ${JSON.stringify(options)} says`, () => {
    assert.deepEqual(optionsOf(options), { reasoning, fallbackModels: [], user: undefined, lost: [] });
  });
}

test('the options of this gateway are read, and all others that say something are lost', () => {
  const gateway = { models: ['a', 1, 'b'], user: 'u', order: ['x'] };
  const options = {
    gateway,
    openai: { logitBias: {}, store: null, reasoningEffort: null },
    toString: { a: 1 },
    other: 'x',
  };
  assert.deepEqual(optionsOf(options), {
    reasoning: null,
    fallbackModels: ['a', 'b'],
    user: 'u',
    lost: ['providerOptions.gateway.order', 'providerOptions.openai.logitBias', 'providerOptions.toString.a'],
  });
  assert.deepEqual(optionsOf('none').lost, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rulesOf } from './model-rules.ts';

const cases: Readonly<Record<string, [thinking: string, sampling: string, forcedTool: string, jsonSchema: string]>> = {
  'claude-instant-1.2': ['none', 'all', 'accepted', 'none'],
  'claude-3-5-sonnet-20241022': ['none', 'all', 'accepted', 'none'],
  'claude-3-7-sonnet-20250219': ['budget', 'all', 'accepted', 'none'],
  // The date is not a minor version.
  'claude-sonnet-4-20250514': ['budget', 'all', 'accepted', 'none'],
  'claude-sonnet-4@20250514': ['budget', 'all', 'accepted', 'none'],
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0': ['budget', 'one-of-temperature-and-top-p', 'accepted', 'native'],
  'claude-haiku-4-5-20251001': ['budget', 'one-of-temperature-and-top-p', 'accepted', 'native'],
  'claude-opus-4-6': ['budget', 'one-of-temperature-and-top-p', 'accepted', 'native'],
  'claude-opus-4-7': ['adaptive', 'none', 'accepted', 'native'],
  'anthropic/claude-opus-5': ['adaptive', 'none', 'accepted', 'native'],
  'claude-sonnet-5-5': ['adaptive', 'none', 'refused', 'native'],
  'claude-fable-5-1': ['adaptive', 'none', 'refused', 'native'],
  'claude-haiku-5.5': ['adaptive', 'none', 'accepted', 'native'],
  'some-imitator': ['budget', 'all', 'accepted', 'none'],
};

for (const [model, expected] of Object.entries(cases)) {
  test(`rules of ${model}`, () => {
    const rules = rulesOf(model);
    assert.deepEqual([rules.thinking, rules.sampling, rules.forcedTool, rules.jsonSchema], expected);
  });
}

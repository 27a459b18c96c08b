import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rulesOf } from './model-rules.ts';

/** By the order of `ModelRules`; a date is not a minor version. */
const cases = `
  claude-instant-1.2 none | refused | refused | absent | while-thinking | all | accepted | none | accepted | refused
  claude-3-5-sonnet-20241022 none | refused | refused | absent | while-thinking | all | accepted | none | accepted | refused
  claude-3-7-sonnet-20250219 budget | refused | refused | absent | while-thinking | all | accepted | none | accepted | refused
  claude-sonnet-4-20250514 budget | refused | refused | absent | while-thinking | all | accepted | none | accepted | refused
  claude-sonnet-4@20250514 budget | refused | refused | absent | while-thinking | all | accepted | none | accepted | refused
  us.anthropic.claude-sonnet-4-5-20250929-v1:0 budget | refused | refused | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | accepted | refused
  claude-haiku-4-5-20251001 budget | refused | refused | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | accepted | refused
  claude-opus-4-5 budget | refused | accepted | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | accepted | refused
  claude-sonnet-4-6 budget | accepted | accepted | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | refused | refused
  claude-opus-4-6 budget | accepted | accepted | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | refused | refused
  claude-opus-4-7 adaptive | accepted | accepted | absent | accepted | none | accepted | native | refused | refused
  claude-opus-4-8 adaptive | accepted | accepted | absent | accepted | none | accepted | native | refused | accepted
  claude-opus-4-10 adaptive | accepted | accepted | absent | accepted | none | accepted | native | refused | accepted
  claude-sonnet-5 adaptive | accepted | accepted | disabled | accepted | none | accepted | native | refused | accepted
  claude-haiku-5 budget | refused | refused | absent | while-thinking | one-of-temperature-and-top-p | accepted | native | refused | accepted
  anthropic/claude-opus-5 adaptive | accepted | accepted | disabled | accepted | none | accepted | native | refused | accepted
  claude-fable-5 adaptive | accepted | accepted | effort-low | accepted | none | accepted | native | refused | accepted
  claude-fable-5-1 adaptive | accepted | accepted | effort-low | accepted | none | refused | native | refused | accepted
  claude-sonnet-5-5 adaptive | accepted | accepted | between_tools | accepted | none | refused | native | refused | accepted
  claude-haiku-5.5 adaptive | accepted | accepted | disabled | accepted | none | accepted | native | refused | accepted
  claude-opus-5-5 adaptive | accepted | accepted | effort-low | accepted | none | refused | native | refused | accepted
  some-imitator budget | accepted | accepted | absent | accepted | all | accepted | none | accepted | refused
`;

for (const row of cases.trim().split('\n')) {
  const [model = '', ...expected] = row.trim().split(/ \| | /);
  test(`rules of ${model}`, () => {
    const { thinking, adaptive, effort, thinkingOff, thoughtsInLoop, ...rules } = rulesOf(model);
    const { sampling, forcedTool, jsonSchema, prefill, systemInMessages } = rules;
    assert.deepEqual(
      [
        thinking,
        adaptive,
        effort,
        thinkingOff,
        thoughtsInLoop,
        sampling,
        forcedTool,
        jsonSchema,
        prefill,
        systemInMessages,
      ],
      expected,
    );
  });
}

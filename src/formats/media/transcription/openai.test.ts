import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../../../kernel/json.ts';
import { usageOf } from './openai.ts';

test('the usage of a transcript is read in each form that a provider writes, and is none where it writes none', () => {
  const none = { inputTokens: 0, outputTokens: 0 };
  const forms: readonly (readonly [JsonValue | undefined, number | null, ReturnType<typeof usageOf>])[] = [
    [undefined, null, null],
    [{}, null, null],
    ['many', null, null],
    [undefined, 2.5, { ...none, audioMs: 2_500 }],
    [{ type: 'duration', seconds: 9 }, null, { ...none, audioMs: 9_000 }],
    [{ type: 'duration', seconds: 9 }, 8.5, { ...none, audioMs: 8_500 }],
    [{ type: 'tokens', input_tokens: 7 }, null, { inputTokens: 7, outputTokens: 0 }],
    [{ type: 'tokens', output_tokens: 3 }, null, { inputTokens: 0, outputTokens: 3 }],
    [
      { input_tokens: 7, output_tokens: 3, input_token_details: { audio_tokens: 5, text_tokens: 2 } },
      null,
      { inputTokens: 7, outputTokens: 3, audioInputTokens: 5 },
    ],
    [
      { prompt_tokens: 4, completion_tokens: 6, prompt_audio_seconds: 203 },
      null,
      { inputTokens: 4, outputTokens: 6, audioMs: 203_000 },
    ],
  ];
  for (const [usage, durationS, expected] of forms)
    assert.deepEqual(usageOf(usage, durationS), expected, JSON.stringify([usage, durationS]));
});

import { schemaOfJsonMode } from '../answer-forms.ts';
import { withoutMarks } from '../cache-marks.ts';
import { lowToHigh, wordsOfOpenRouter } from '../efforts.ts';
import { inTurn, withAnswerMembers, withPicturesBehindResults, withThoughtsAsReasoning } from '../histories.ts';
import { hintsForOpenAi, openAiLike, wordsOfMistral } from '../openai-like.ts';

/** https://inference-docs.cerebras.ai/resources/openai: the omitted fields are a 400; a 429 says when by its own headers. */
export const cerebras = openAiLike({
  id: 'cerebras',
  title: 'Cerebras',
  baseUrl: 'https://api.cerebras.ai/v1',
  envKey: 'CEREBRAS_API_KEY',
  forwards: { completions: '/completions' },
  tooLong: [/current length is (?<sent>\d+) while limit is (?<most>\d+)/i],
  quirks: {
    omit: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'parallel_tool_calls', 'service_tier', 'thinking'],
    omitInChat: [...wordsOfOpenRouter, 'metadata', ...wordsOfMistral, ...hintsForOpenAi],
    rename: { random_seed: 'seed' },
    // "property 'messages.2.assistant.reasoning_content' is unsupported"; its own models give `reasoning`.
    history: inTurn(withThoughtsAsReasoning, withAnswerMembers('reasoning'), withPicturesBehindResults),
    fits: [withoutMarks, schemaOfJsonMode],
    nativeN: false,
    files: false,
    // https://inference-docs.cerebras.ai/capabilities/reasoning
    models: [
      { pattern: /^gpt-oss/, efforts: lowToHigh },
      { pattern: /glm|^qwen-?3/, efforts: ['none', ...lowToHigh] },
    ],
  },
});

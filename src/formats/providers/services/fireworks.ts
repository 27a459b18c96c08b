import { lowToHigh, wordsOfOpenRouter } from '../efforts.ts';
import { imagesOfFireworks } from '../image-models.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://docs.fireworks.ai/tools-sdks/openai-compatibility: usage ends every stream, unasked. */
export const fireworks = openAiLike({
  id: 'fireworks',
  title: 'Fireworks AI',
  prices: 'fireworks',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  envKey: 'FIREWORKS_API_KEY',
  // "Extra inputs are not permitted, field: 'reasoning'".
  quirks: {
    systemFirst: true,
    omitInChat: wordsOfOpenRouter,
    // https://docs.fireworks.ai/guides/reasoning
    models: [
      { pattern: /^(gpt-oss|minimax-m)/, efforts: lowToHigh },
      { pattern: /^(deepseek-v|glm-|kimi-k2p|qwen3p6)/, efforts: ['none', ...lowToHigh] },
    ],
  },
  forwards: { completions: '/completions' },
  embeds: { ...openAiEmbeddings, dimensions: 'asked' },
  images: imagesOfFireworks,
  tooLong: [/prompt is too long: (?<sent>\d+), model maximum context length: (?<most>\d+)/i],
  errors: [{ status: 412, code: /suspended|spending limit|billing/i, class: 'quota_exhausted' }],
});

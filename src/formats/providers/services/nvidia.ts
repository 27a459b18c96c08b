import { withoutMarks } from '../cache-marks.ts';
import { lowToHigh, wordsOfOpenRouter } from '../efforts.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://docs.api.nvidia.com/nim/reference: each model behind it has its own schema, all know `max_tokens`. */
export const nvidia = openAiLike({
  id: 'nvidia',
  title: 'NVIDIA NIM',
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  envKey: 'NVIDIA_API_KEY',
  paths: { key: null },
  forwards: { completions: '/completions' },
  embeds: {
    ...openAiEmbeddings,
    dimensions: 'asked',
    inputType: {
      field: 'input_type',
      words: { query: 'query', document: 'passage' },
      asymmetric: /embedqa|nemoretriever|nv-embed|e5|arctic/,
    },
  },
  // "Validation: Unsupported parameter(s): reasoning".
  quirks: {
    omitInChat: wordsOfOpenRouter,
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
    fits: [withoutMarks],
    models: [{ pattern: /^gpt-oss/, efforts: lowToHigh }],
  },
  errors: [
    { status: 404, code: /function .*not found/i, class: 'model_unavailable' },
    { status: 402, class: 'quota_exhausted' },
  ],
});

import { schemaOfJsonMode } from '../answer-forms.ts';
import { effortsOfServers } from '../efforts.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://docs.sglang.ai/basic_usage/openai_api.html */
export const sglang = openAiLike({
  id: 'sglang',
  title: 'SGLang',
  baseUrl: 'http://127.0.0.1:30000/v1',
  local: true,
  quirks: {
    systemFirst: true,
    fits: [schemaOfJsonMode],
    // 400: 'reasoning_effort' … Input should be 'low', 'medium' or 'high'.
    models: [{ pattern: /(?:)/, efforts: effortsOfServers }],
  },
  forwards: { completions: '/completions', rerank: '/rerank' },
  embeds: { ...openAiEmbeddings, takesTokens: true, without: ['messages'] },
  tooLong: [/input \((?<sent>\d+) tokens\) is longer than the model's context length \((?<most>\d+) tokens\)/i],
});

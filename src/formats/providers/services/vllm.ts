import { schemaOfJsonMode } from '../answer-forms.ts';
import { withThoughtsAsReasoning } from '../histories.ts';
import { openAiEmbeddings, openAiLike, openAiTranscription } from '../openai-like.ts';

/** https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html: unknown fields are ignored. */
export const vllm = openAiLike({
  id: 'vllm',
  title: 'vLLM',
  baseUrl: 'http://127.0.0.1:8000/v1',
  local: true,
  quirks: { systemFirst: true, history: withThoughtsAsReasoning, fits: [schemaOfJsonMode] },
  forwards: { completions: '/completions', rerank: '/rerank' },
  embeds: {
    ...openAiEmbeddings,
    batch: 256,
    takesTokens: true,
    dimensions: 'asked',
    encoding: 'asked',
    without: ['messages'],
  },
  // Its times are those of segments.
  transcription: { ...openAiTranscription, timestamps: 'segments' },
  tooLong: [
    /prompt \(length (?<sent>\d+)\) is longer than the maximum model length of (?<most>\d+)/i,
    /input length \((?<sent>\d+)\) exceeds model's maximum context length \((?<most>\d+)\)/i,
  ],
  errors: [{ status: 404, code: 'NotFoundError', class: 'model_unavailable' }],
});

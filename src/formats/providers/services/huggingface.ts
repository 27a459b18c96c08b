import { openAiLike } from '../openai-like.ts';

/**
 * https://huggingface.co/docs/inference-providers: a router to other services, which `model:provider` picks; also in
 * the Responses format and in Anthropic's. The token in the environment as HF_TOKEN is mostly there for downloads, so
 * it alone configures nothing.
 */
export const huggingface = openAiLike({
  id: 'huggingface',
  title: 'Hugging Face',
  baseUrl: 'https://router.huggingface.co/v1',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  tooLong: [
    // Text Generation Inference.
    /`inputs`.{0,40}must (?:be <=|have less than) (?<most>\d+)(?: tokens)?\. Given: (?<sent>\d+)/i,
  ],
  quirks: { systemFirst: true, rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
});

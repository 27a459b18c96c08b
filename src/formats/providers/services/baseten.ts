import { openAiLike } from '../openai-like.ts';

/**
 * https://docs.baseten.co/reference/inference-api/chat-completions: Model APIs. A deployment has a separate address.
 */
export const baseten = openAiLike({
  id: 'baseten',
  title: 'Baseten',
  baseUrl: 'https://inference.baseten.co/v1',
  envKey: 'BASETEN_API_KEY',
});

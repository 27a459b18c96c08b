import { openAiEmbeddings, openAiLike, openAiTranscription } from '../openai-like.ts';

/**
 * https://docs.sambanova.ai/docs/en/features/openai-compatibility, and Anthropic's Messages at the same base. Errors
 * are OpenAI's (docs.sambanova.ai/docs/en/api-reference/using-the-api/api-error-codes).
 */
export const sambanova = openAiLike({
  id: 'sambanova',
  title: 'SambaNova',
  baseUrl: 'https://api.sambanova.ai/v1',
  envKey: 'SAMBANOVA_API_KEY',
  paths: { key: null },
  embeds: openAiEmbeddings,
  transcription: openAiTranscription,
});

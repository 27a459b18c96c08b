import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/**
 * https://learn.microsoft.com/azure/databricks/machine-learning/foundation-model-apis/api-reference: serving endpoints of
 * a workspace, `https://WORKSPACE/serving-endpoints`. A model is the name of an endpoint, so nothing is discovered.
 */
export const databricks = openAiLike({
  id: 'databricks',
  title: 'Databricks',
  baseUrl: null,
  paths: { models: null, messages: null },
  forwards: { completions: '/completions' },
  embeds: { ...openAiEmbeddings, dimensions: 'asked' },
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});

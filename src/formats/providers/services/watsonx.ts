import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/**
 * https://www.ibm.com/docs/en/watsonx/saas?topic=generation-inferencing-gateway-models: the model gateway of a region,
 * `https://us-south.ml.cloud.ibm.com/ml/gateway/v1`. An API key of IBM Cloud is exchanged for tokens.
 */
export const watsonx = openAiLike({
  id: 'watsonx',
  title: 'IBM watsonx.ai',
  baseUrl: null,
  auth: 'ibm-iam',
  paths: { responses: null, messages: null },
  forwards: { completions: '/completions' },
  embeds: openAiEmbeddings,
  tooLong: [/number of input tokens (?<sent>\d+) cannot exceed the total tokens limit (?<most>\d+)/i],
});

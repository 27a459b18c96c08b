import { openAiResponses } from '../../inference/dialects/openai-responses/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import type { Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';
import { countingRoute } from './count-tokens.ts';

const place = { endpoint: 'responses', dialect: openAiResponses, limitForm: 'openai' } as const;

/** `POST /v1/responses` and its `input_tokens`: OpenAI's newer format over any provider, without state of our own. */
export function responsesRoutes(services: Services): Route[] {
  return [
    conversationRoute(services, {
      ...place,
      path: '/v1/responses',
      summary: "A conversation in OpenAI's newer format, over any provider",
    }),
    countingRoute(services, {
      ...place,
      path: '/v1/responses/input_tokens',
      answer: (inputTokens) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
    }),
  ];
}

import { openAiResponses } from '../../inference/dialects/openai-responses/index.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';

/** `POST /v1/responses`: OpenAI's newer format over any provider, without state of our own. */
export function responsesRoutes(services: Services): Route[] {
  return [
    conversationRoute(services, {
      path: '/v1/responses',
      endpoint: 'responses',
      dialect: openAiResponses,
      limitForm: 'openai',
    }),
  ];
}

import { anthropicMessages } from '../../formats/dialects/anthropic-messages/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import type { Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';
import { countingRoute } from './count-tokens.ts';

const place = { endpoint: 'messages', dialect: anthropicMessages, limitForm: 'anthropic' } as const;

/** `POST /v1/messages`, with or without `?beta=true`, and its `count_tokens`: Anthropic's format over any provider. */
export function messagesRoutes(services: Services): Route[] {
  return [
    conversationRoute(services, {
      ...place,
      path: '/v1/messages',
      summary: "A conversation in Anthropic's format, over any provider",
    }),
    countingRoute(services, {
      ...place,
      path: '/v1/messages/count_tokens',
      answer: (inputTokens) => ({ input_tokens: inputTokens }),
    }),
  ];
}

import { anthropicMessages } from '../../inference/dialects/anthropic-messages/index.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';

/** `POST /v1/messages`, with or without `?beta=true`: Anthropic's format over any provider. */
export function messagesRoute(services: Services): Route {
  return conversationRoute(services, {
    path: '/v1/messages',
    endpoint: 'messages',
    dialect: anthropicMessages,
    limitForm: 'anthropic',
  });
}

import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import type { Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';

/** `POST /v1/chat/completions`: any model, whatever provider answers. */
export function chatRoute(services: Services): Route {
  return conversationRoute(services, {
    path: '/v1/chat/completions',
    summary: "A conversation in OpenAI's format, over any provider",
    endpoint: 'chat',
    dialect: openAiChat,
    limitForm: 'openai',
  });
}

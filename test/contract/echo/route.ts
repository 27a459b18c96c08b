import { openAiChat } from '../../../src/formats/dialects/openai-chat/index.ts';
import type { Route } from '../../../src/http/exchange.ts';
import { asReceived, bodyHandler } from '../../../src/http/model-call.ts';
import type { Services } from '../../../src/inference/endpoints/services.ts';
import { echoEndpoint } from './endpoint.ts';

/** `POST /v1/echo`. */
export function echoRoute(services: Services): Route {
  return {
    method: 'POST',
    path: '/v1/echo',
    auth: 'key',
    quota: 'one',
    endpoint: 'echo',
    summary: 'Give back what was sent',
    dialect: openAiChat,
    handle: bodyHandler(services, echoEndpoint(services), asReceived),
  };
}

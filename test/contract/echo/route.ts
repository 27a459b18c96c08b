import type { Route } from '../../../src/http/exchange.ts';
import { receiveModelCall } from '../../../src/http/receive-model-call.ts';
import { openAiChat } from '../../../src/inference/dialects/openai-chat/index.ts';
import type { Services } from '../../../src/inference/endpoints/services.ts';
import { serve } from '../../../src/inference/spine/serve.ts';
import { echoEndpoint } from './endpoint.ts';

/** `POST /v1/echo`. */
export function echoRoute(services: Services): Route {
  const endpoint = echoEndpoint(services);
  return {
    method: 'POST',
    path: '/v1/echo',
    auth: 'key',
    quota: 'one',
    endpoint: 'echo',
    dialect: openAiChat,
    async handle(exchange) {
      const received = await receiveModelCall(services, exchange);
      if (received !== null) await serve(services, endpoint, received.call, received.body);
    },
  };
}

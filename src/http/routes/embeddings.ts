import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { embeddingsEndpoint } from '../../inference/embeddings/endpoint.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { serve } from '../../inference/spine/serve.ts';
import type { Route } from '../exchange.ts';
import { receiveModelCall } from '../receive-model-call.ts';

/** `POST /v1/embeddings`: OpenAI's format over any provider that makes vectors. */
export function embeddingsRoute(services: Services): Route {
  const embeddings = embeddingsEndpoint(services, 'embeddings');
  return {
    method: 'POST',
    path: '/v1/embeddings',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    endpoint: 'embeddings',
    dialect: openAiChat,
    async handle(exchange) {
      const received = await receiveModelCall(services, exchange);
      if (received !== null) await serve(services, embeddings, received.call, received.body);
    },
  };
}

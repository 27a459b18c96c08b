import { embeddingSchema } from '../../formats/dialects/embeddings/read-request.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';

/** `POST /v1/embeddings`: OpenAI's format over any provider that makes vectors. */
export function embeddingsRoute(services: Services): Route {
  return {
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'Turn texts into vectors',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    endpoint: 'embeddings',
    dialect: openAiChat,
    body: { schema: embeddingSchema },
    handle: bodyHandler(services, embeddingsEndpoint(services, 'embeddings'), asReceived),
  };
}

import { embeddingSchema } from '../../formats/embeddings/read-request.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { keyRoute } from './key-route.ts';

/** `POST /v1/embeddings`: OpenAI's format over any provider that makes vectors. */
export function embeddingsRoute(services: Services): Route {
  return keyRoute('POST /v1/embeddings', 'one', {
    summary: 'Turn texts into vectors',
    limitForm: 'openai',
    endpoint: 'embeddings',
    body: { schema: embeddingSchema },
    handle: bodyHandler(services, embeddingsEndpoint(services, 'embeddings'), asReceived),
  });
}

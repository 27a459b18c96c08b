import { cohereChat } from '../../formats/dialects/cohere-chat/index.ts';
import { cohereEmbeddingSchema } from '../../formats/dialects/embeddings/read-cohere-request.ts';
import { rerank } from '../../formats/dialects/forwarded/rerank.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { conversationRoute } from './conversation.ts';

/** Version 2 of Cohere's API over any provider, at the paths that its SDKs ask (docs/cohere.md). */
export function cohereRoutes(services: Services): Route[] {
  const posted = { method: 'POST', auth: 'key', quota: 'one', limitForm: 'openai', dialect: cohereChat } as const;
  return [
    conversationRoute(services, {
      endpoint: 'chat',
      dialect: cohereChat,
      limitForm: 'openai',
      path: '/v2/chat',
      summary: "A conversation in Cohere's format",
    }),
    {
      ...posted,
      path: '/v2/embed',
      summary: "Embeddings in Cohere's format",
      endpoint: 'embeddings',
      body: { schema: cohereEmbeddingSchema },
      handle: bodyHandler(services, embeddingsEndpoint(services, 'cohere-embeddings'), asReceived),
    },
    {
      ...posted,
      path: '/v2/rerank',
      summary: rerank.summary,
      endpoint: rerank.id,
      body: { schema: rerank.requestSchema },
      handle: bodyHandler(services, forwardedEndpoint(services, rerank.id), asReceived),
    },
  ];
}

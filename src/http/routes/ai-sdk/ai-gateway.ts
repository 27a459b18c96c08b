import { withCallMembers } from '../../../formats/dialects/ai-sdk/call-members.ts';
import { aiSdk } from '../../../formats/dialects/ai-sdk/index.ts';
import { type Version, versionOf } from '../../../formats/dialects/ai-sdk/wire.ts';
import { aiSdkEmbeddingSchema, withHeaderModel } from '../../../formats/dialects/embeddings/read-ai-sdk-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../../inference/families/embeddings/endpoint.ts';
import type { Alias } from '../../../inference/models/alias.ts';
import { listedModels } from '../../../inference/models/ruled-names.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { bodyHandler } from '../../model-call.ts';
import { writeJson } from '../../write-json.ts';
import { conversationRoute } from '../conversation.ts';
import { mediaRoutes, modelNamed } from './media.ts';
import { videoRoutes } from './videos.ts';
import { WarnedDelivery } from './warned-delivery.ts';

/** The protocol of Vercel's AI Gateway over any provider, for the AI SDK's `createGateway` (docs/ai-gateway.md). */
export function aiGatewayRoutes(services: Services): Route[] {
  return [
    languageRoute(services),
    {
      method: 'POST',
      auth: 'key',
      quota: 'one',
      limitForm: 'openai',
      dialect: aiSdk,
      path: '/v4/ai/embedding-model',
      summary: "A call of the AI SDK's embedding models; a header names the model",
      endpoint: 'embeddings',
      body: { schema: aiSdkEmbeddingSchema },
      handle: bodyHandler(services, embeddingsEndpoint(services, 'ai-sdk-embeddings'), (exchange, body) => {
        const model = modelNamed(exchange);
        return typeof model === 'string' ? withHeaderModel(body, model) : model;
      }),
    },
    ...mediaRoutes(services),
    ...videoRoutes(services),
    {
      method: 'GET',
      auth: 'key',
      quota: 'free',
      dialect: aiSdk,
      path: '/v4/ai/config',
      summary: 'The models of the key, as the AI SDK lists those of a gateway',
      handle(exchange) {
        const models = listedModels(services.snapshots.current, callerOf(exchange)).flatMap(entryOf);
        writeJson(exchange, 200, { models });
      },
    },
  ];
}

function languageRoute(services: Services): Route {
  const route = conversationRoute(services, {
    endpoint: 'chat',
    dialect: aiSdk,
    limitForm: 'openai',
    path: '/v4/ai/language-model',
    summary: "A call of the AI SDK's language models; headers name the model, and whether it streams",
    readBody(exchange, body) {
      const model = modelNamed(exchange, 'ai-language-model-id');
      if (typeof model !== 'string') return model;
      const isStream = headerOf(exchange, 'ai-language-model-streaming') === 'true';
      return withCallMembers(body, model, isStream, versionIn(exchange));
    },
  });
  return {
    ...route,
    handle: (exchange) =>
      route.handle({ ...exchange, client: new WarnedDelivery(exchange.client, versionIn(exchange)) }),
  };
}

function versionIn(exchange: Exchange): Version {
  return versionOf(headerOf(exchange, 'ai-language-model-specification-version'));
}

const types: Readonly<Record<string, string>> = {
  chat: 'language',
  embedding: 'embedding',
  image: 'image',
  speech: 'speech',
  transcription: 'transcription',
  rerank: 'reranking',
  video: 'video',
};

/** Models that this protocol can call here. */
function entryOf({ id, ownedBy, listedAs }: Alias): JsonObject[] {
  const modelType = types[listedAs];
  if (modelType === undefined) return [];
  const specification = { specificationVersion: 'v4', provider: ownedBy, modelId: id };
  return [{ id, name: id, specification, modelType }];
}

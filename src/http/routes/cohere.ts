import { cohereChat } from '../../formats/dialects/cohere-chat/index.ts';
import { rerank } from '../../formats/dialects/forwarded/rerank.ts';
import { cohereEmbeddingSchema } from '../../formats/embeddings/read-cohere-request.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import { isFailure } from '../../kernel/failure.ts';
import { type JsonObject, objectIn } from '../../kernel/json.ts';
import type { Exchange, Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { refuseCall } from '../write-json.ts';
import { fromVersion2, version1Wire } from './cohere/from-version-2.ts';
import { toVersion2, type Version1Form, version1Schema, version1Words } from './cohere/to-version-2.ts';
import { conversationRoute } from './conversation.ts';
import { ConvertedDelivery, ConvertedStream } from './converted-delivery.ts';
import { keyRoute } from './key-route.ts';
import { readObject } from './read-object.ts';

/** Versions 2 and 1 of Cohere's API over any provider, at the paths that its SDKs ask (docs/cohere.md). */
export function cohereRoutes(services: Services): Route[] {
  const conversation = conversationRoute(services, {
    endpoint: 'chat',
    dialect: cohereChat,
    limitForm: 'openai',
    path: '/v2/chat',
    summary: "A conversation in Cohere's format",
  });
  const embed = keyRoute('POST /v2/embed', 'one', {
    limitForm: 'openai',
    dialect: cohereChat,
    summary: "Embeddings in Cohere's format",
    endpoint: 'embeddings',
    body: { schema: cohereEmbeddingSchema },
    handle: bodyHandler(services, embeddingsEndpoint(services, 'cohere-embeddings'), asReceived),
  });
  return [
    conversation,
    embed,
    ...(['chat', 'generate'] as const).map((form) => ({
      ...conversation,
      path: `/v1/${form}`,
      summary: "The same in version 1 of Cohere's API",
      body: { schema: () => version1Schema(form) },
      handle: (exchange: Exchange) => answerVersion1(services, exchange, form, conversation.handle),
    })),
    {
      ...embed,
      path: '/v1/embed',
      summary: "The same in version 1 of Cohere's API",
      handle: (exchange) => embedVersion1(services, exchange, embed.handle),
    },
    keyRoute('POST /v2/rerank', 'one', {
      limitForm: 'openai',
      dialect: cohereChat,
      summary: rerank.summary,
      endpoint: rerank.id,
      body: { schema: rerank.requestSchema },
      handle: bodyHandler(services, forwardedEndpoint(services, rerank.id), asReceived),
    }),
  ];
}

/** A conversation of version 1, which `answer` answers in version 2. */
async function answerVersion1(services: Services, exchange: Exchange, form: Version1Form, answer: Route['handle']) {
  const request = await readObject(services, exchange);
  if (request === null) return;
  const converted = toVersion2(form, request);
  if (isFailure(converted)) return void refuseCall(exchange, converted);
  const { body, lost } = converted;
  const facts = { words: version1Words[form], lost };
  if (body.stream === true) exchange.wire = version1Wire(form, request);
  const client =
    body.stream === true
      ? new ConvertedStream(exchange.client, facts)
      : new ConvertedDelivery(exchange.client, {
          ...facts,
          answerOf: (answered) => fromVersion2(form, JSON.parse(String(answered)) as JsonObject, request),
        });
  await answer({ ...exchange, client, givenBody: Buffer.from(JSON.stringify(body)) });
}

/** Embeddings of version 1, which are floats where the caller names no types. */
async function embedVersion1(services: Services, exchange: Exchange, answer: Route['handle']) {
  const request = await readObject(services, exchange);
  if (request === null) return;
  const isTyped = Array.isArray(request.embedding_types);
  const client = new ConvertedDelivery(exchange.client, {
    words: {},
    lost: [],
    answerOf(answered) {
      const { embeddings, meta, ...rest } = JSON.parse(String(answered)) as JsonObject;
      return {
        ...rest,
        texts: request.texts ?? [],
        meta: { ...objectIn(meta), api_version: { version: '1' } },
        ...(isTyped ? { embeddings } : { embeddings: objectIn(embeddings).float, response_type: 'embeddings_floats' }),
      } as JsonObject;
    },
  });
  await answer({ ...exchange, client, givenBody: Buffer.from(JSON.stringify(request)) });
}

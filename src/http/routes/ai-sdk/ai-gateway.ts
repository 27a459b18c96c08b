import { withCallMembers } from '../../../formats/dialects/ai-sdk/call-members.ts';
import { aiSdk } from '../../../formats/dialects/ai-sdk/index.ts';
import { type Version, versionOf } from '../../../formats/dialects/ai-sdk/wire.ts';
import { aiSdkEmbeddingSchema, withHeaderModel } from '../../../formats/embeddings/read-ai-sdk-request.ts';
import { lossHeaderName } from '../../../formats/neutral/loss.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../../inference/families/embeddings/endpoint.ts';
import type { Alias } from '../../../inference/models/alias.ts';
import { listedModels } from '../../../inference/models/ruled-names.ts';
import type { AnswerForm, Bytes, Delivery, HeaderList, Pace } from '../../../inference/spine/sink.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { bodyHandler } from '../../model-call.ts';
import { writeJson } from '../../write-json.ts';
import { conversationRoute } from '../conversation.ts';
import { keyRoute } from '../key-route.ts';
import { PassedDelivery } from '../passed-delivery.ts';
import { mediaRoutes, modelNamed } from './media.ts';
import { videoRoutes } from './videos.ts';

/** The protocol of Vercel's AI Gateway over any provider, for the AI SDK's `createGateway` (docs/ai-gateway.md). */
export function aiGatewayRoutes(services: Services): Route[] {
  return [
    languageRoute(services),
    keyRoute('POST /v4/ai/embedding-model', 'one', {
      limitForm: 'openai',
      dialect: aiSdk,
      summary: "A call of the AI SDK's embedding models; a header names the model",
      endpoint: 'embeddings',
      body: { schema: aiSdkEmbeddingSchema },
      handle: bodyHandler(services, embeddingsEndpoint(services, 'ai-sdk-embeddings'), (exchange, body) => {
        const model = modelNamed(exchange);
        return typeof model === 'string' ? withHeaderModel(body, model) : model;
      }),
    }),
    ...mediaRoutes(services),
    ...videoRoutes(services),
    keyRoute('GET /v4/ai/config', 'free', {
      dialect: aiSdk,
      summary: 'The models of the key, as the AI SDK lists those of a gateway',
      handle(exchange) {
        const models = listedModels(services.snapshots.current, callerOf(exchange)).flatMap(entryOf);
        writeJson(exchange, 200, { models });
      },
    }),
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

/** Warnings as answers of language models have them before they are filled in. */
const none = '"warnings":[]';

/**
 * The caller of a language model, who reads the fields that were left out in `warnings` of the answer: applications of
 * the AI SDK see no header of a stream. A refusal has none.
 */
class WarnedDelivery extends PassedDelivery {
  readonly #version: Version;
  #form: AnswerForm = 'whole';
  /** Warnings that wait for their place; null: there are none, or they are written. */
  #warnings: string | null = null;

  constructor(next: Delivery, version: Version) {
    super(next);
    this.#version = version;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    const at = headers.indexOf(lossHeaderName);
    this.#form = form;
    if (at !== -1) this.#warnings = warningsOf((headers[at + 1] ?? '').split(', '), this.#version);
    this.next.start(form, headers, status);
  }

  override chunk(chunk: Bytes): Pace {
    if (this.#warnings === null) return this.next.chunk(chunk);
    const text = typeof chunk === 'string' ? chunk : chunk.toString('utf8');
    // They are in the first part of a stream, and behind the content of a whole answer.
    const at = this.#form === 'whole' ? text.lastIndexOf(none) : text.indexOf(none);
    if (at === -1) return this.next.chunk(chunk);
    const filled = `${text.slice(0, at)}"warnings":${this.#warnings}${text.slice(at + none.length)}`;
    this.#warnings = null;
    return this.next.chunk(filled);
  }
}

function warningsOf(lost: readonly string[], version: Version): string {
  return JSON.stringify(
    lost.map((field) =>
      version === 2 ? { type: 'unsupported-setting', setting: field } : { type: 'unsupported', feature: field },
    ),
  );
}

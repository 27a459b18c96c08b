import { arrayWire } from '../../formats/dialects/gemini/array-wire.ts';
import { gemini } from '../../formats/dialects/gemini/index.ts';
import { withPathMembers, withPathModel } from '../../formats/dialects/gemini/path-members.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { bodyHandler } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { refuseCall } from '../write-json.ts';
import { conversationRoute } from './conversation.ts';
import { countingHandler } from './count-tokens.ts';
import { describeGeminiModel, listGeminiModels } from './gemini-models.ts';
import { batchMethodOf, beginGoogleBatch, type GoogleBatchesParts } from './google/batches.ts';
import { type CacheParts, withStoredCache } from './google/cached-contents.ts';
import { mediaHandler } from './google/media.ts';
import { googleVersions } from './google/resource-names.ts';
import { keyRoute } from './key-route.ts';
import { vertexBases } from './vertex.ts';

/**
 * `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`, also below `/v1` and at Vertex AI's paths: Google's format over any
 * provider, streamed as events (`alt=sse`) or as one array. They count and cost as a chat completion does; `:embedContent` and `:batchEmbedContents` as a
 * request for embeddings does. `:countTokens` is free, and so is `GET /v1beta/models`, with `/{model}` or without.
 */
export function geminiRoutes(parts: CacheParts & GoogleBatchesParts): Route[] {
  const { services } = parts;
  const embed = bodyHandler(services, embeddingsEndpoint(services, 'gemini-embeddings'), (exchange, body) =>
    withPathModel(body, embeddingModelOf(services, exchange)!),
  );
  const count = countingHandler(
    services,
    { dialect: gemini, answer: (totalTokens) => ({ totalTokens }) },
    (exchange, body) => bodyToCount(services, exchange, body),
  );
  const answersByMedia = mediaHandler(services);
  const bases = [...googleVersions.map((version) => `/${version}`), ...vertexBases('google')];
  const conversations = bases.map((base) => {
    const conversation = conversationRoute(services, {
      path: `${base}/models/*`,
      summary: "A conversation in Google's format, its tokens, or embeddings, by the method behind the model",
      endpoint: 'chat',
      dialect: gemini,
      limitForm: 'openai',
      readBody: withMethodOfPath,
    });
    return {
      ...conversation,
      async handle(exchange: Exchange) {
        if (!(await expandsCache(parts, exchange))) return;
        if (isStream(exchange) && formOf(exchange) === 'json') exchange.wire = arrayWire();
        if (modelCountedOf(exchange) !== null) return count(exchange);
        if (embeddingModelOf(services, exchange) !== null) return embed(exchange);
        if (await answersByMedia(exchange)) return;
        const batched = batchMethodOf(exchange.params['*'] ?? '');
        return batched === null ? conversation.handle(exchange) : beginGoogleBatch(parts, exchange, batched);
      },
    };
  });
  const read = (call: `GET ${string}`, summary: string, show: typeof listGeminiModels) =>
    keyRoute(call, 'free', { dialect: gemini, summary, handle: (exchange) => show(services, exchange) });
  return [
    ...conversations,
    read('GET /v1beta/models', "The models of the key, in Google's format", listGeminiModels),
    read('GET /v1beta/models/*', "One model, in Google's format", describeGeminiModel),
  ];
}

/** Reads the body, with what a cache keeps in place of the cache's name. False: it was refused, or its caller left. */
async function expandsCache(parts: CacheParts, exchange: Exchange): Promise<boolean> {
  const raw = await readJsonBody(exchange, parts.services.snapshots.current.config.server.body_limit);
  if (raw === null) return false;
  const body = Buffer.isBuffer(raw) ? await withStoredCache(parts, exchange, raw) : raw;
  if (!Buffer.isBuffer(body)) {
    refuseCall(exchange, body);
    return false;
  }
  exchange.givenBody = body;
  return true;
}

function modelCountedOf(exchange: Exchange): string | null {
  return /^(.+):countTokens$/s.exec(exchange.params['*'] ?? '')?.[1] ?? null;
}

/** The content to count is in the body itself, or in its `generateContentRequest`. */
async function bodyToCount({ bodies }: Services, exchange: Exchange, body: Buffer): Promise<Buffer | Failure> {
  const model = modelCountedOf(exchange)!;
  if (!body.includes('"generateContentRequest"')) return withPathMembers(body, model, false);
  const read = await bodies.readObject(callerOf(exchange).tenant, body);
  if (isFailure(read)) return read;
  const { generateContentRequest: wrapped } = read.body;
  if (!isObject(wrapped)) return withPathMembers(body, model, false);
  const { model: _, ...request } = wrapped;
  return withPathMembers(Buffer.from(JSON.stringify(request)), model, false);
}

/** Model of a request for embeddings, of which Vertex AI's has a method of those for pictures; null for any other request. */
function embeddingModelOf({ snapshots }: Services, exchange: Exchange): string | null {
  const path = exchange.params['*'] ?? '';
  const [, model = null, method] = /^(.+):(embedContent|batchEmbedContents|predict)$/s.exec(path) ?? [];
  if (model === null || method !== 'predict') return model;
  const alias = snapshots.current.models.resolve(model, callerOf(exchange));
  return isFailure(alias) || alias.listedAs !== 'embedding' ? null : model;
}

function withMethodOfPath(exchange: Exchange, body: Buffer): Buffer | Failure {
  const called = /^(.+):([A-Za-z]+)$/s.exec(exchange.params['*'] ?? '');
  const [, model, method] = called ?? [];
  if (model === undefined || (method !== 'generateContent' && method !== 'streamGenerateContent')) {
    const message =
      'The methods of models are {model}:generateContent, :streamGenerateContent?alt=sse, :countTokens, :embedContent, :batchEmbedContents, :batchGenerateContent, :asyncBatchEmbedContent, :predict and :predictLongRunning.';
    return { kind: 'not-found', message };
  }
  const stream = method === 'streamGenerateContent';
  const form = formOf(exchange);
  if (stream && form !== 'sse' && form !== 'json') {
    return invalid('alt', "Streams are server-sent events with '?alt=sse', or an array of JSON with '?alt=json'.");
  }
  return withPathMembers(body, model, stream);
}

function isStream(exchange: Exchange): boolean {
  return exchange.params['*']?.endsWith(':streamGenerateContent') === true;
}

/** Form of a stream. Clients made from Google's definitions send `$alt=json;enum-encoding=int`, and read names too. */
function formOf({ search }: Exchange): string {
  const query = new URLSearchParams(search);
  return (query.get('alt') ?? query.get('$alt') ?? 'json').split(';', 1)[0] ?? '';
}

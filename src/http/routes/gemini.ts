import { gemini } from '../../inference/dialects/gemini/index.ts';
import { withPathMembers, withPathModel } from '../../inference/dialects/gemini/path-members.ts';
import { embeddingsEndpoint } from '../../inference/embeddings/endpoint.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Exchange, Route } from '../exchange.ts';
import { bodyHandler } from '../model-call.ts';
import { conversationRoute } from './conversation.ts';

/**
 * `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent?alt=sse`, also below `/v1`: Google's format
 * over any provider. It counts and costs as a chat completion does; `:embedContent` and `:batchEmbedContents` as a
 * request for embeddings does.
 */
export function geminiRoutes(services: Services): Route[] {
  const embed = bodyHandler(services, embeddingsEndpoint(services, 'gemini-embeddings'), (exchange, body) =>
    withPathModel(body, embeddingModelOf(exchange)!),
  );
  return versions.map((version) => {
    const conversation = conversationRoute(services, {
      path: `/${version}/models/*`,
      endpoint: 'chat',
      dialect: gemini,
      limitForm: 'openai',
      readBody: withMethodOfPath,
    });
    return {
      ...conversation,
      handle: (exchange) => (embeddingModelOf(exchange) === null ? conversation.handle : embed)(exchange),
    };
  });
}

/** Null when something else is asked for. */
function embeddingModelOf(exchange: Exchange): string | null {
  return /^(.+):(?:embedContent|batchEmbedContents)$/s.exec(exchange.params['*'] ?? '')?.[1] ?? null;
}

/** Google's SDKs take the first up to their version 2, the other from 3 on. */
const versions = ['v1beta', 'v1'] as const;

function withMethodOfPath(exchange: Exchange, body: Buffer): Buffer | Failure {
  const called = /^(.+):([A-Za-z]+)$/s.exec(exchange.params['*'] ?? '');
  const [, model, method] = called ?? [];
  if (model === undefined || (method !== 'generateContent' && method !== 'streamGenerateContent')) {
    const message =
      'Of models there are {model}:generateContent, :streamGenerateContent?alt=sse, :embedContent and :batchEmbedContents.';
    return { kind: 'not-found', message };
  }
  const stream = method === 'streamGenerateContent';
  if (stream && new URLSearchParams(exchange.search).get('alt') !== 'sse') {
    return invalid('alt', "A stream is given as server-sent events alone: add '?alt=sse'.");
  }
  return withPathMembers(body, model, stream);
}

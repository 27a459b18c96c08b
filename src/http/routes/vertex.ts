import { anthropicMessages } from '../../formats/dialects/anthropic-messages/index.ts';
import { readInvokeBody, withoutMembers } from '../../formats/dialects/bedrock-converse/invoke-body.ts';
import type { JsonSchema } from '../../formats/neutral/described-check.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { type JsonValue, objectIn } from '../../kernel/json.ts';
import { type Exchange, headerOf, type Route } from '../exchange.ts';
import { conversationRoute } from './conversation.ts';
import { countingRoute } from './count-tokens.ts';

/** Beginnings of Vertex AI's paths, of express mode and of a project. Projects and locations choose nothing here. */
const bases = ['/v1', '/v1beta1'].flatMap((version) => [version, `${version}/projects/:project/locations/:location`]);

/** Beginnings of paths of a publisher's models at Vertex AI. Those of Google's are in `geminiRoutes`. */
export function vertexBases(publisher: 'google' | 'anthropic'): string[] {
  return bases.map((base) => `${base}/publishers/${publisher}`);
}

/** Messages at the paths that Anthropic's SDKs for Vertex AI ask (docs/vertex.md). */
export function vertexRoutes(services: Services): Route[] {
  const place = { endpoint: 'messages', dialect: anthropicMessages, limitForm: 'anthropic' } as const;
  return vertexBases('anthropic').flatMap((base) => [
    {
      ...conversationRoute(services, {
        ...place,
        path: `${base}/models/*`,
        summary: "A conversation in Anthropic's format, at the path of Vertex AI",
        readBody: withMembersOfPath,
      }),
      body: { schema: bodySchema },
    },
    countingRoute(services, {
      ...place,
      // Two colons are one of the path.
      path: `${base}/models/count-tokens::rawPredict`,
      answer: (inputTokens) => ({ input_tokens: inputTokens }),
      bodyOf: (_, body) => withoutMembers(body, ['anthropic_version']),
    }),
  ]);
}

/** That of Messages, whose model is in the path, with the version that Vertex AI wants. */
function bodySchema(): JsonSchema {
  const schema = anthropicMessages.requestSchema('answer');
  const { model: _, ...properties } = objectIn(schema.properties as JsonValue);
  return {
    ...schema,
    properties: { ...properties, anthropic_version: { type: 'string' } },
    required: ['anthropic_version', 'messages', 'max_tokens'],
  };
}

/** Puts the model into the body, and takes from it what Vertex AI alone wants there. */
function withMembersOfPath(exchange: Exchange, body: Buffer): Buffer | Failure {
  const [, model, method] = /^(.+):(rawPredict|streamRawPredict)$/s.exec(exchange.params['*'] ?? '') ?? [];
  if (model === undefined) {
    const message = 'The methods are {model}:rawPredict, {model}:streamRawPredict and count-tokens:rawPredict.';
    return { kind: 'not-found', message };
  }
  const read = readInvokeBody(body, model, method === 'streamRawPredict');
  if (isFailure(read)) return read;
  // It is no object, which the reader of Messages refuses.
  if (read.body === body) return body;
  if (read.form !== 'anthropic-messages') {
    const message = `'anthropic_version' is missing. Send "vertex-2023-10-16", as Anthropic's SDKs do.`;
    return invalid('anthropic_version', message);
  }
  const betas = [headerOf(exchange, 'anthropic-beta'), read.betas].filter(Boolean).join(',');
  if (betas !== '') exchange.request.headers['anthropic-beta'] = betas;
  return read.body;
}

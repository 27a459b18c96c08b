import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import { noNeeds } from '../../neutral/request.ts';
import { asFailure, type Check, cleanUser, complain, stringOf, within } from '../../neutral/value-checks.ts';
import { prepareForTarget } from '../openai-chat/read-request.ts';
import { remoteMediaIn } from '../openai-chat/remote-media.ts';
import type { ForwardedEndpoint, ForwardedRequest } from './endpoint.ts';

/** Fields of an endpoint in addition to those that all have in common. */
export interface ForwardedFacts {
  /** Taken when the body names none; null = it must. */
  defaultModel: string | null;
  inputTokensEstimate: number;
  maxOutputTokens: number | null;
  stream: boolean;
  includeUsage: boolean;
  /** Beginning of the text that later requests will share; '' if there is none. */
  start: string;
}

/** The fault of the members that every such body has; null when there is none. */
export function invalidFieldIn(body: JsonObject, defaultModel: string | null): Failure | null {
  const { model, user } = body;
  if (model === undefined || model === null) {
    if (defaultModel === null) return asFailure(complain('model', undefined, modelSend));
  } else {
    const wrong = modelName(model);
    if (wrong !== null) return asFailure(within('model', wrong));
  }
  if (typeof user === 'string' && user.length > userCharsMax) {
    return asFailure(complain('user', user, `a string of at most ${userCharsMax} characters`));
  }
  return null;
}

const userCharsMax = 256;
const modelName = stringOf(1, 256);
const modelSend = 'the name of a model (GET /v1/models lists them)';

/** JSON Schema of a body with these members in addition to the common ones; `required`: of those, with their texts. */
export function schemaBesideModel(
  fields: Readonly<Record<string, Check>>,
  required: Readonly<Record<string, string>>,
  model: 'required' | 'optional' = 'required',
): JsonSchema {
  const needed = new Map(Object.entries(required));
  if (model === 'required') needed.set('model', modelSend);
  return bodySchema(Object.entries({ model: modelName, ...fields, user: stringOf(0, userCharsMax) }), needed);
}

export function forwardedRequest(
  raw: Buffer,
  body: JsonObject,
  scan: JsonScan,
  facts: ForwardedFacts,
): ForwardedRequest {
  const { stream, inputTokensEstimate, maxOutputTokens } = facts;
  return {
    model: typeof body.model === 'string' ? body.model : facts.defaultModel!,
    stream,
    includeUsage: facts.includeUsage,
    // Choices come in one answer, whatever their number.
    n: 1,
    seed: null,
    needs: { ...noNeeds, stream, inputTokensEstimate, maxOutputTokens },
    user: typeof body.user === 'string' ? cleanUser(body.user) : null,
    conversationStart: facts.start,
    // vLLM ranks pictures, and LocalAI reads the messages of a chat in every body.
    address: () => remoteMediaIn(body, Object.keys(body))[0]?.param,
    forward: (target) =>
      prepareForTarget(raw, body, scan, {
        ...target,
        maxOutputTokens: maxOutputTokens === null ? null : target.maxOutputTokens,
      }),
  };
}

/**
 * Reads the bodies of an endpoint that never streams. `tokensOf`: an estimate of the tokens that its model reads;
 * `defaultModel`: as in `ForwardedFacts`.
 */
export function readUnstreamed(
  tokensOf: (raw: Buffer, body: JsonObject) => number,
  defaultModel: string | null = null,
): ForwardedEndpoint['readRequest'] {
  return (raw, body, scan) => {
    const wrong = invalidFieldIn(body, defaultModel);
    if (wrong !== null) return wrong;
    return forwardedRequest(raw, body, scan, {
      defaultModel,
      inputTokensEstimate: tokensOf(raw, body),
      maxOutputTokens: null,
      stream: false,
      includeUsage: false,
      start: '',
    });
  };
}

/** `stream` and `stream_options`, where an endpoint has them; a Failure names the wrong one. */
export function streamOf(body: JsonObject): { stream: boolean; includeUsage: boolean } | Failure {
  const { stream, stream_options: options } = body;
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    return asFailure(complain('stream', stream, 'true or false'));
  }
  if (options === undefined || options === null) return { stream: stream === true, includeUsage: false };
  if (!isObject(options)) return asFailure(complain('stream_options', options, 'an object'));
  if (stream !== true) return invalid('stream_options', "'stream_options' needs 'stream': true.");
  return { stream: true, includeUsage: options.include_usage === true };
}

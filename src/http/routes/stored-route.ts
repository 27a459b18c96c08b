import { openAiResponses } from '../../formats/dialects/openai-responses/index.ts';
import type { JsonSchema } from '../../formats/neutral/described-check.ts';
import type { ObjectReader } from '../../inference/spine/body-reader.ts';
import { type Failure, failureIn, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { offLoopBodyBytes } from '../../kernel/limits.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { hasBody, readJsonBody } from '../read-body.ts';
import { refuseCall, writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

/** A call about a stored object, and its caller. */
export interface StoredCall {
  tenant: string;
  account: string;
  exchange: Exchange;
  params: Exchange['params'];
  query: URLSearchParams;
  /** Its body; an empty object when it has none. */
  body: JsonObject;
}

/** The kind of stored object, and the words of its errors. */
export interface StoredPlace extends Pick<Route, 'dialect'> {
  endpoint: string;
  /** Reads bodies up to 32 MB. Without it they may have 1 MB. */
  objects?: ObjectReader;
}

export const responsesPlace: StoredPlace = { endpoint: 'responses', dialect: openAiResponses };

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * A call whose JSON answer, or failure, is there at once; null: it was answered already. An answer whose members a caller or
 * a provider names goes by `sendForeign`. It may throw a FailureError too. Reading and deleting is free. `properties`: the
 * members of its body, as JSON Schema.
 */
export function storedRoute(
  method: Method,
  path: string,
  summary: string,
  answer: (call: StoredCall) => Promise<JsonObject | Failure | null>,
  properties: JsonSchema = {},
  { endpoint, dialect, objects }: StoredPlace = responsesPlace,
): Route {
  const hasBody = method === 'POST' || method === 'PATCH';
  return keyRoute(`${method} ${path}`, hasBody ? 'one' : 'free', {
    summary,
    dialect,
    ...(hasBody && { endpoint, body: { schema: () => ({ type: 'object', properties }) } }),
    async handle(exchange) {
      const { account, tenant } = callerOf(exchange);
      await answerWith(exchange, async () => {
        const read = hasBody ? await objectOf(exchange, objects ?? null) : { body: {} };
        if (read === null || isFailure(read)) return read;
        const query = new URLSearchParams(exchange.search);
        return answer({ tenant, account, exchange, params: exchange.params, query, body: read.body });
      });
    },
  });
}

/** Answers a call with what `work` returns or throws; null: it was answered already. */
export async function answerWith(exchange: Exchange, work: () => Promise<JsonObject | Failure | null>): Promise<void> {
  const answer = await work().catch(failureIn);
  if (isFailure(answer)) refuseCall(exchange, answer);
  else if (answer !== null) sendForeign(exchange, answer);
}

/** Calls about one kind of object: `storedRoute` without its last argument. */
export function storedRoutes(place: StoredPlace) {
  return (...[method, path, summary, answer, properties]: Parameters<typeof storedRoute>) =>
    storedRoute(method, path, summary, answer, properties, place);
}

/** Answers with an object whose members are not ours: it may have a member `kind`, as a Failure has. */
export function sendForeign(exchange: Exchange, answer: JsonObject): null {
  writeJson(exchange, 200, answer, exchange.admitted?.headers ?? []);
  return null;
}

const largeBytesMax = 32 * 1024 * 1024;

async function objectOf(
  exchange: Exchange,
  objects: ObjectReader | null,
): Promise<{ body: JsonObject } | Failure | null> {
  // A POST without a body, such as a cancellation.
  if (!hasBody(exchange.request)) return { body: {} };
  const raw = await readJsonBody(exchange, objects === null ? offLoopBodyBytes : largeBytesMax);
  if (raw === null) return null;
  if (!Buffer.isBuffer(raw)) return raw;
  return objects === null ? parseObject(raw) : objects.readObject(callerOf(exchange).tenant, raw);
}

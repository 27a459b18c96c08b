import type { JsonSchema } from '../../inference/dialects/described-check.ts';
import { openAiResponses } from '../../inference/dialects/openai-responses/index.ts';
import { parseBody } from '../../inference/spine/parse-body.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';

/** What is asked of what is kept, and of whom. */
export interface KeptCall {
  tenant: string;
  account: string;
  exchange: Exchange;
  params: Exchange['params'];
  query: URLSearchParams;
  /** Its body; an empty object when it has none. */
  body: JsonObject;
}

/** What such calls are of, and the words of their errors. */
export type KeptPlace = { endpoint: string } & Pick<Route, 'dialect'>;

const responsesPlace: KeptPlace = { endpoint: 'responses', dialect: openAiResponses };

type Method = 'GET' | 'POST' | 'DELETE';

/**
 * A call whose JSON answer is there at once; null: it was answered already. Failures are thrown as FailureError. Reading
 * and deleting is free. `properties`: the members of its body, as JSON Schema.
 */
export function keptRoute(
  method: Method,
  path: string,
  summary: string,
  answer: (call: KeptCall) => Promise<JsonObject | null>,
  properties: JsonSchema = {},
  { endpoint, dialect }: KeptPlace = responsesPlace,
): Route {
  return {
    method,
    path,
    summary,
    auth: 'key',
    quota: method === 'POST' ? 'one' : 'free',
    dialect,
    ...(method === 'POST' && { endpoint, body: { schema: () => ({ type: 'object', properties }) } }),
    async handle(exchange) {
      const { account, tenant } = exchange.principal!;
      const headers = exchange.admitted?.headers ?? [];
      try {
        const body = method === 'POST' ? await objectOf(exchange) : {};
        if (body === null) return;
        const query = new URLSearchParams(exchange.search);
        const told = await answer({ tenant, account, exchange, params: exchange.params, query, body });
        if (told !== null) writeJson(exchange, 200, told, headers);
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        refuse(exchange.client, error.failure, headers);
      }
    },
  };
}

const bodyBytesMax = 32 * 1024 * 1024;

async function objectOf(exchange: Exchange): Promise<JsonObject | null> {
  const { headers } = exchange.request;
  // A POST without a body, such as a cancellation.
  if ((headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined) return {};
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return null;
  if (!Buffer.isBuffer(raw)) throw new FailureError(raw);
  const parsed = parseBody(raw);
  if (!parsed.ok) throw new FailureError(parsed.failure);
  return parsed.value.body;
}

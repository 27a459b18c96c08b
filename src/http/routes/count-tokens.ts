import type { LimitHeaderForm } from '../../books/metering/admission.ts';
import type { CallerDialect, CallerDialectId } from '../../formats/dialects/dialect.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { type CountCall, countTokens } from '../../inference/families/chat/count-tokens.ts';
import type { PromptTable } from '../../inference/models/prompts.ts';
import { addableBody, throughPrompt } from '../../inference/spine/prompted.ts';
import { modelThroughRules } from '../../inference/spine/ruled.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { tagOf } from '../tag-header.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

/** Path where a request's input is counted but not answered, with its format. */
export interface CountingPlace extends Counting {
  path: string;
  limitForm: LimitHeaderForm;
  bodyOf?: BodyOf;
}

export interface Counting {
  dialect: CallerDialect;
  answer(inputTokens: number): JsonObject;
}

/** A POST that tells the input tokens of a body. Free: Claude Code sends 25 at once. */
export function countingRoute(services: Services, place: CountingPlace): Route {
  const { path, dialect, limitForm } = place;
  return keyRoute(`POST ${path}`, 'free', {
    summary: 'Count the input tokens of a conversation; free',
    limitForm,
    endpoint: 'count-tokens',
    dialect,
    body: { schema: () => dialect.requestSchema('count') },
    handle: countingHandler(services, place, place.bodyOf),
  });
}

/** Adds to a body the facts of the request that are outside of it. */
type BodyOf = (exchange: Exchange, body: Buffer) => Buffer | Promise<Buffer | Failure>;

export function countingHandler(
  services: Services,
  counting: Counting,
  bodyOf: BodyOf = (_, body) => body,
): (exchange: Exchange) => Promise<void> {
  return (exchange) => count(services, exchange, counting, bodyOf);
}

async function withPrompt(
  { bodies }: Services,
  exchange: Exchange,
  prompts: PromptTable,
  dialect: CallerDialectId,
  body: Buffer,
): Promise<Buffer | Failure> {
  const addable = addableBody(bodies, { principal: callerOf(exchange) }, body, dialect);
  return await throughPrompt(prompts, body, addable);
}

/** Endpoints that would answer what is counted. Default: `chat`. */
const endpoints: Partial<Record<CallerDialectId, string>> = {
  'anthropic-messages': 'messages',
  'openai-responses': 'responses',
};

/** Rules for routes see a count as the request that would follow it. They ask for no vectors of a text. */
function ruledBy(services: Services, exchange: Exchange, dialect: CallerDialectId): NonNullable<CountCall['ruled']> {
  const { headers } = exchange.request;
  const endpoint = endpoints[dialect] ?? 'chat';
  return async (facts) => {
    const call = { principal: callerOf(exchange), tag: tagOf(headers), callerHeaders: headers, atMs: exchange.atMs };
    const sources = { left: services.admission.left, inner: null };
    const ruled = await modelThroughRules(services.snapshots.current, sources, call, { endpoint, ...facts });
    return isFailure(ruled) ? ruled : { model: ruled.model, principal: ruled.call.principal };
  };
}

async function count(
  services: Services,
  exchange: Exchange,
  { dialect, answer }: Counting,
  bodyOf: BodyOf,
): Promise<void> {
  const body = await readJsonBody(exchange, services.snapshots.current.config.server.body_limit);
  if (body === null) return;
  const sent = Buffer.isBuffer(body) ? await bodyOf(exchange, body) : body;
  const { prompts } = services.snapshots.current;
  const whole =
    prompts === null || !Buffer.isBuffer(sent) ? sent : await withPrompt(services, exchange, prompts, dialect.id, sent);
  const counted = Buffer.isBuffer(whole)
    ? await countTokens(services, {
        dialect: dialect.id,
        principal: callerOf(exchange),
        body: whole,
        callerHeaders: exchange.request.headers,
        ruled: services.snapshots.current.rules === null ? null : ruledBy(services, exchange, dialect.id),
      })
    : whole;
  if (counted.kind !== 'counted') return refuse(exchange.client, counted, []);
  const { by, inputTokens } = counted;
  const headers =
    by === null
      ? ['x-culvert-token-count', 'estimated']
      : ['x-culvert-provider', by.provider, 'x-culvert-model', encodeURI(by.model)];
  writeJson(exchange, 200, answer(inputTokens), headers);
}

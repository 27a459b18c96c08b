import { openAiResponses } from '../../formats/dialects/openai-responses/index.ts';
import { lossHeaderName } from '../../formats/neutral/loss.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { atProvider } from '../../inference/families/responses/at-provider.ts';
import type { BackgroundRuns } from '../../inference/families/responses/background.ts';
import { answeredTrigger, compacted, compactionTrigger } from '../../inference/families/responses/compaction.ts';
import { type ResponsesEndpoint, responsesEndpoint } from '../../inference/families/responses/endpoint.ts';
import { chainItems, expandedForCount, responseNotFound } from '../../inference/families/responses/expand.ts';
import { followRun, followStored } from '../../inference/families/responses/follow-response.ts';
import { refuse, type Sink, sendWhole } from '../../inference/spine/sink.ts';
import { type Failure, failureIn, invalidField, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { asReceived, bodyHandler, modelCallOf } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { refusalOf } from '../refused-request.ts';
import { refuseCall, writeJson } from '../write-json.ts';
import { conversationsRoutes } from './conversations.ts';
import { countingRoute } from './count-tokens.ts';
import { interactionsRoutes } from './google/interactions.ts';
import { keyRoute } from './key-route.ts';
import { pageIn, pageOfWhole } from './list-page.ts';
import type { SocketParts, TenantShares } from './responses-socket/session.ts';
import { responsesPlace, type StoredCall, sendForeign, storedRoute } from './stored-route.ts';

const place = { endpoint: 'responses', dialect: openAiResponses, limitForm: 'openai' } as const;

/** `POST /v1/responses`, OpenAI's newer format over any provider, and what is kept of its answers. */
export function responsesRoutes(services: Services, background: BackgroundRuns, sockets: SocketParts): Route[] {
  const { responses } = services;
  const endpoint = responsesEndpoint(services);
  const answered = bodyHandler(services, endpoint, asReceived);
  const answer = (exchange: Exchange) => answerOrBegin(services, background, exchange, answered, endpoint);
  return [
    keyRoute('POST /v1/responses', 'one', {
      ...place,
      summary: "A conversation in OpenAI's newer format, over any provider",
      body: { schema: () => openAiResponses.requestSchema('answer') },
      handle: answer,
    }),
    socketRoute(sockets),
    countingRoute(services, {
      ...place,
      path: '/v1/responses/input_tokens',
      answer: (inputTokens) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
      bodyOf: ({ principal }, body) => expandedForCount(services, callerOf({ principal }).tenant, body),
    }),
    storedRoute(
      'POST',
      '/v1/responses/compact',
      'Compact a conversation into one item',
      async ({ exchange, body }) => {
        const call = modelCallOf(exchange);
        if (call === null) return null;
        const { answer, headers } = await compacted(services, endpoint, call, body);
        writeJson(exchange, 200, answer, headers);
        return null;
      },
      { model: { type: 'string' }, ...inputSchemas },
      { ...responsesPlace, objects: services.bodies },
    ),
    storedRoute('GET', '/v1/responses/:id', 'A stored response', async ({ tenant, params, query, exchange }) => {
      const id = params.id ?? '';
      const run = background.find(tenant, id);
      const stored = await responses.find(tenant, id);
      if (stored !== null && query.get('stream') === 'true') {
        const after = startingAfter(query);
        if (isFailure(after)) return after;
        const headers = exchange.admitted?.headers ?? [];
        if (run !== null) await followRun(run, exchange.client, after, headers);
        else await followStored(responses, background.elsewhere, { tenant, id }, exchange.client, after, headers);
        return null;
      }
      const rest = queryOf(exchange.search);
      const found = stored?.response ?? (await atProvider(services, tenant, id, { method: 'GET', rest }));
      return sendForeign(exchange, found);
    }),
    storedRoute('DELETE', '/v1/responses/:id', 'Delete a response', async ({ tenant, params, exchange }) => {
      const id = params.id ?? '';
      if (await responses.remove(tenant, id)) return { id, object: 'response', deleted: true };
      return sendForeign(exchange, await atProvider(services, tenant, id, { method: 'DELETE', rest: '' }));
    }),
    storedRoute('POST', '/v1/responses/:id/cancel', 'Cancel a background response', async (call) => {
      const id = call.params.id ?? '';
      const response = await background.cancel(call.tenant, id);
      return response === null ? responseNotFound(id) : sendForeign(call.exchange, response);
    }),
    storedRoute('GET', '/v1/responses/:id/input_items', 'Input items of a response', (call) =>
      inputItems(services, call),
    ),
    ...conversationsRoutes(services),
    ...interactionsRoutes(services, background, answer),
  ];
}

/** Route of the WebSocket, whose session is loaded with the first connection. */
function socketRoute(parts: SocketParts): Route {
  const shares: TenantShares = new Map();
  return keyRoute('GET /v1/responses', 'free', {
    ...place,
    summary: 'Responses over a WebSocket: each response.create counts as a request',
    webSocket: true,
    async handle(exchange) {
      const { answerSocket } = await import('./responses-socket/session.ts');
      await answerSocket(parts, shares, exchange);
    },
  });
}

const text = { type: 'string' };
const inputSchemas = {
  input: { anyOf: [text, { type: 'array', items: { type: 'object' } }] },
  previous_response_id: text,
  instructions: text,
};

/** Responses with `background: true` are stored as queued, and run without their caller. */
async function answerOrBegin(
  services: Services,
  background: BackgroundRuns,
  exchange: Exchange,
  answered: Route['handle'],
  endpoint: ResponsesEndpoint,
): Promise<void> {
  const raw = await readJsonBody(exchange, services.snapshots.current.config.server.body_limit);
  if (raw === null) return;
  if (!Buffer.isBuffer(raw)) return void refuseCall(exchange, raw);
  const read = raw.includes('"background"') ? await services.bodies.readObject(callerOf(exchange).tenant, raw) : null;
  // Its endpoint says what is wrong with a body that nobody can read.
  const body = read === null || isFailure(read) ? null : read.body;
  const isRun = body?.background === true;
  if (!isRun && !raw.includes(compactionTrigger)) return answered({ ...exchange, givenBody: raw });
  const call = modelCallOf(exchange);
  if (call === null) return;
  if (!isRun) {
    if (!(await answeredTrigger(services, endpoint, call, raw))) await answered({ ...exchange, givenBody: raw });
    return;
  }
  const lost = body.background_options == null ? [] : [lossHeaderName, 'background_options'];
  const refused = (failure: Failure) => {
    const nowMs = services.clock.wallMs();
    exchange.onRefused(refusalOf({ ...exchange, admitted: call.admitted }, failure, factsOf(failure, nowMs), nowMs));
  };
  const begin = async (sink: Sink): Promise<void> => {
    const headers = [...call.admitted.headers, ...lost];
    try {
      const run = await background.begin(call, body, refused);
      // Its place among the running requests is the run's from now on.
      exchange.admitted = null;
      if (body.stream === true) return await followRun(run, exchange.client, -1, headers);
      sendWhole(sink, headers, JSON.stringify(run.response));
    } catch (error) {
      refuse(sink, failureIn(error), call.admitted.headers);
    }
  };
  const { idempotencyKey: key, requestId, principal, admitted, sink } = call;
  if (key === null || body.stream === true) return begin(sink);
  const keyed = { key, tenant: principal.tenant, endpoint: 'responses', requestId, body: raw, sink };
  await services.idempotency.once({ ...keyed, headers: admitted.headers }, begin);
}

/** Number of the event that the caller has last; -1: none. */
function startingAfter(query: URLSearchParams): number | Failure {
  const after = query.get('starting_after');
  if (after === null) return -1;
  if (/^\d{1,9}$/.test(after)) return Number(after);
  return invalidField('starting_after', 'must be the sequence_number of an event');
}

/** All that its model read: what it continues, then its own. */
async function inputItems(services: Services, { tenant, params, query, exchange }: StoredCall) {
  const id = params.id ?? '';
  const page = pageIn(query);
  if (isFailure(page)) return page;
  const stored = await services.responses.find(tenant, id);
  if (stored === null) {
    return atProvider(services, tenant, id, { method: 'GET', rest: `/input_items${queryOf(exchange.search)}` });
  }
  const before = stored.previous === null ? [] : await chainItems(services.responses, tenant, stored.previous);
  // What it continues may have been deleted since.
  const items = before === null || isFailure(before) ? stored.input : [...before, ...stored.input];
  return pageOfWhole(items, page);
}

function queryOf(search: string): string {
  return search === '' ? '' : `?${search}`;
}

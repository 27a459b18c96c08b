import { interactionOf } from '../../../formats/dialects/interactions/from-response.ts';
import { interactionSchema, interactions } from '../../../formats/dialects/interactions/index.ts';
import { interactionWire } from '../../../formats/dialects/interactions/stream-wire.ts';
import { interactionWords, toResponseRequest } from '../../../formats/dialects/interactions/to-response-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { BackgroundRuns } from '../../../inference/families/responses/background.ts';
import { followRun, followStored } from '../../../inference/families/responses/follow-response.ts';
import { type Failure, invalidField, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { refuseCall } from '../../write-json.ts';
import { ConvertedDelivery, ConvertedStream } from '../converted-delivery.ts';
import { keyRoute } from '../key-route.ts';
import { readObject } from '../read-object.ts';
import { type StoredPlace, sendForeign, storedRoutes } from '../stored-route.ts';
import { googleVersions } from './resource-names.ts';

const place: StoredPlace = { endpoint: 'responses', dialect: interactions };
const stored = storedRoutes(place);

/**
 * Google's Interactions over any provider: `create`, and `get`, `delete` and `cancel` of what is kept. An interaction is a
 * response (`/v1/responses`) in Google's format, which `answer` answers, so each is found by the other's calls too.
 */
export function interactionsRoutes(services: Services, background: BackgroundRuns, answer: Route['handle']): Route[] {
  const { responses } = services;
  return googleVersions.flatMap((version) => {
    const path = `/${version}/interactions`;
    return [
      keyRoute(`POST ${path}`, 'one', {
        ...place,
        limitForm: 'openai',
        summary: "A turn of Google's Interactions, over any provider",
        body: { schema: interactionSchema },
        handle: (exchange) => create(services, exchange, answer),
      }),
      stored('GET', `${path}/:id`, 'A stored interaction', async ({ tenant, params, query, exchange }) => {
        const id = params.id ?? '';
        const found = await responses.find(tenant, id);
        if (found === null) return interactionNotFound(id);
        if (query.get('stream') !== 'true') return sendForeign(exchange, interactionOf(found.response));
        const after = lastEventId(query);
        if (isFailure(after)) return after;
        exchange.wire = interactionWire(after);
        const run = background.find(tenant, id);
        if (run !== null) await followRun(run, exchange.client, -1, []);
        else await followStored(responses, background.elsewhere, { tenant, id }, exchange.client, -1, []);
        return null;
      }),
      stored('DELETE', `${path}/:id`, 'Delete an interaction', async ({ tenant, params }) => {
        const id = params.id ?? '';
        return (await responses.remove(tenant, id)) ? {} : interactionNotFound(id);
      }),
      stored('POST', `${path}/:id/cancel`, 'Cancel a background interaction', async (call) => {
        const id = call.params.id ?? '';
        const response = await background.cancel(call.tenant, id);
        return response === null ? interactionNotFound(id) : sendForeign(call.exchange, interactionOf(response));
      }),
    ] satisfies Route[];
  });
}

async function create(services: Services, exchange: Exchange, answer: Route['handle']): Promise<void> {
  const interaction = await readObject(services, exchange);
  if (interaction === null) return;
  const converted = toResponseRequest(interaction);
  if (isFailure(converted)) return void refuseCall(exchange, converted);
  const { body, lost } = converted;
  const facts = { words: interactionWords, lost };
  const isStream = body.stream === true;
  if (isStream) exchange.wire = interactionWire();
  const client = isStream
    ? new ConvertedStream(exchange.client, facts)
    : new ConvertedDelivery(exchange.client, {
        ...facts,
        answerOf: (response) => interactionOf(JSON.parse(String(response)) as JsonObject),
      });
  const asResponse = { ...exchange, client, givenBody: Buffer.from(JSON.stringify(body)) };
  await answer(asResponse);
  // A run in the background has taken its place over.
  exchange.admitted = asResponse.admitted;
}

/** Number of the event that the caller has last; 0: none. */
function lastEventId(query: URLSearchParams): number | Failure {
  const id = query.get('last_event_id') ?? '';
  if (/^\d{0,9}$/.test(id)) return Number(id);
  return invalidField('last_event_id', 'must be the event_id of an event');
}

function interactionNotFound(id: string): Failure {
  return { kind: 'not-found', message: `Interaction with id '${id.slice(0, 128)}' not found.` };
}

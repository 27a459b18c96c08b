import { openAiResponses } from '../../inference/dialects/openai-responses/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { atProvider } from '../../inference/responses/at-provider.ts';
import { responsesEndpoint } from '../../inference/responses/endpoint.ts';
import { chainItems, expandedForCount } from '../../inference/responses/expand.ts';
import { pageOf, readPage } from '../../inference/responses/pages.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { countingRoute } from './count-tokens.ts';
import { type KeptCall, keptRoute } from './kept.ts';

const place = { endpoint: 'responses', dialect: openAiResponses, limitForm: 'openai' } as const;

/** `POST /v1/responses`, OpenAI's newer format over any provider, and what is kept of its answers. */
export function responsesRoutes(services: Services): Route[] {
  const { responses } = services;
  return [
    {
      ...place,
      method: 'POST',
      path: '/v1/responses',
      summary: "A conversation in OpenAI's newer format, over any provider",
      auth: 'key',
      quota: 'one',
      body: { schema: () => openAiResponses.requestSchema('answer') },
      handle: bodyHandler(services, responsesEndpoint(services), asReceived),
    },
    countingRoute(services, {
      ...place,
      path: '/v1/responses/input_tokens',
      answer: (inputTokens) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
      bodyOf: ({ principal }, body) =>
        expandedForCount(responses, principal!.tenant, body, services.snapshot().config.server.body_limit),
    }),
    keptRoute('GET', '/v1/responses/:id', 'A response that is kept', async ({ tenant, params, exchange }) => {
      const id = params.id ?? '';
      const kept = await responses.find(tenant, id);
      if (kept !== null) return kept.response;
      return atProvider(services, tenant, id, { method: 'GET', rest: queryOf(exchange.search) });
    }),
    keptRoute('DELETE', '/v1/responses/:id', 'Delete a response', async ({ tenant, params }) => {
      const id = params.id ?? '';
      if (await responses.remove(tenant, id)) return { id, object: 'response', deleted: true };
      return atProvider(services, tenant, id, { method: 'DELETE', rest: '' });
    }),
    keptRoute('GET', '/v1/responses/:id/input_items', 'What a response was made of', (call) =>
      inputItems(services, call),
    ),
  ];
}

/** All that its model read: what it continues, then its own. */
async function inputItems(services: Services, { tenant, params, query, exchange }: KeptCall): Promise<JsonObject> {
  const id = params.id ?? '';
  const page = readPage(query);
  const kept = await services.responses.find(tenant, id);
  if (kept === null) {
    return atProvider(services, tenant, id, { method: 'GET', rest: `/input_items${queryOf(exchange.search)}` });
  }
  const before = kept.previous === null ? [] : await chainItems(services.responses, tenant, kept.previous);
  // What it continues may have been deleted since.
  const items = before === null || 'kind' in before ? kept.input : [...before, ...kept.input];
  return pageOf(items, page);
}

function queryOf(search: string): string {
  return search === '' ? '' : `?${search}`;
}

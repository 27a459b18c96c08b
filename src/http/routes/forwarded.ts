import { forwardedEndpoints } from '../../formats/dialects/forwarded/index.ts';
import { rerank } from '../../formats/dialects/forwarded/rerank.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import { type JsonObject, objectsIn } from '../../kernel/json.ts';
import type { Exchange, Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { ConvertedDelivery } from './converted-delivery.ts';
import { keyRoute } from './key-route.ts';
import { readObject } from './read-object.ts';

/**
 * `POST /v1/completions`, `/v1/decisions`, `/v1/fim/completions`, `/v1/moderations`, `/v1/ocr`, `/v1/rerank`: one format
 * each, whatever provider serves them. `/v1/reranking` is the last one in Mixedbread's words, and llama.cpp's second name for it.
 */
export function forwardedRoutes(services: Services): Route[] {
  const routes = Object.values(forwardedEndpoints).map(({ id, path, summary, requestSchema }) => {
    const endpoint = forwardedEndpoint(services, id);
    return keyRoute(`POST ${path}`, 'one', {
      summary,
      limitForm: 'openai',
      endpoint: id,
      body: { schema: requestSchema },
      handle: bodyHandler(services, endpoint, asReceived),
    });
  });
  const rank = bodyHandler(services, forwardedEndpoint(services, rerank.id), asReceived);
  const reranking = keyRoute('POST /v1/reranking', 'one', {
    summary: `${rerank.summary}, in Mixedbread's words`,
    limitForm: 'openai',
    endpoint: rerank.id,
    body: { schema: rerank.requestSchema },
    handle: (exchange) => rankInputs(services, exchange, rank),
  });
  return [...routes, reranking];
}

async function rankInputs(services: Services, exchange: Exchange, rank: Route['handle']): Promise<void> {
  const request = await readObject(services, exchange);
  if (request === null) return;
  const { input, return_input: returned, ...body } = request;
  const given = {
    ...body,
    ...(input !== undefined && { documents: input }),
    ...(returned !== undefined && { return_documents: returned }),
  };
  const words = input === undefined ? {} : { documents: 'input', return_documents: 'return_input' };
  const client = new ConvertedDelivery(exchange.client, { words, lost: [], answerOf: (answer) => inputsOf(answer) });
  await rank({ ...exchange, client, givenBody: Buffer.from(JSON.stringify(given)) });
}

/** The ranks in `data` as Mixedbread's clients read them; `results` stay. */
function inputsOf(answer: Buffer): JsonObject {
  const { data, ...others } = JSON.parse(answer.toString()) as JsonObject;
  const ranks = objectsIn(data).map(({ index, relevance_score: score = null, document: input }): JsonObject => {
    return { object: 'rank_result', index: index ?? null, score, ...(input !== undefined && { input }) };
  });
  return { ...others, data: ranks };
}

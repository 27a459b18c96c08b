import { ollamaEmbeddingSchema } from '../../formats/dialects/embeddings/read-ollama-request.ts';
import { ollama } from '../../formats/dialects/ollama/index.ts';
import { asGenerate } from '../../formats/dialects/ollama/path-form.ts';
import { generateSchema } from '../../formats/dialects/ollama/request-fields.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { invalid } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { conversationRoute } from './conversation.ts';

/** Clients look whether a server is new enough for what they do: this API as of then. */
const apiVersion = '0.13.0';
const showBytesMax = 64 * 1024;

/** Ollama's own API over any provider, for editors and tools that speak nothing else (docs/ollama.md). */
export function ollamaRoutes(services: Services): Route[] {
  const shared = { auth: 'key', quota: 'free', dialect: ollama } as const;
  const conversation = { endpoint: 'chat', dialect: ollama, limitForm: 'openai' } as const;
  const embed = {
    method: 'POST',
    auth: 'key',
    quota: 'one',
    endpoint: 'embeddings',
    dialect: ollama,
    body: { schema: ollamaEmbeddingSchema },
    handle: bodyHandler(services, embeddingsEndpoint(services, 'ollama-embeddings'), asReceived),
  } as const;
  return [
    conversationRoute(services, { ...conversation, path: '/api/chat', summary: "A conversation in Ollama's format" }),
    {
      ...conversationRoute(services, {
        ...conversation,
        path: '/api/generate',
        summary: "An answer to one text in Ollama's format",
        readBody: (_, body) => asGenerate(body),
      }),
      body: { schema: generateSchema },
    },
    { ...embed, path: '/api/embed', summary: "Embeddings in Ollama's format" },
    { ...embed, path: '/api/embeddings', summary: "The embedding of one text in Ollama's format" },
    {
      ...shared,
      method: 'GET',
      path: '/api/tags',
      summary: "The models of the key, in Ollama's format",
      handle: (exchange) => writeJson(exchange, 200, { models: modelsOf(services, exchange).map(entryOf) }),
    },
    {
      ...shared,
      method: 'GET',
      path: '/api/ps',
      summary: "The models that are ready, in Ollama's format: all",
      handle: (exchange) => writeJson(exchange, 200, { models: modelsOf(services, exchange).map(entryOf) }),
    },
    {
      ...shared,
      method: 'POST',
      endpoint: 'models',
      path: '/api/show',
      summary: "One model, in Ollama's format",
      handle: (exchange) => show(services, exchange),
    },
    {
      ...shared,
      method: 'GET',
      path: '/api/version',
      summary: "The version of Ollama's API",
      handle: (exchange) => writeJson(exchange, 200, { version: apiVersion }),
    },
  ];
}

/** Models for which this API has a path. */
function modelsOf(services: Services, exchange: Exchange): readonly Alias[] {
  const all = services.snapshot().models.list(callerOf(exchange));
  return all.filter((alias) => capabilitiesOf(alias).length > 0);
}

async function show(services: Services, exchange: Exchange): Promise<void> {
  const raw = await readJsonBody(exchange, showBytesMax);
  if (raw === null) return;
  const parsed = Buffer.isBuffer(raw) ? parseObject(raw) : { ok: false as const, failure: raw };
  if (!parsed.ok) return refuse(exchange.client, parsed.failure, []);
  const { model, name = model } = parsed.value.body;
  if (typeof name !== 'string') return refuse(exchange.client, invalid('model', "Missing 'model': send a name."), []);
  const alias = services.snapshot().models.resolve(name, callerOf(exchange));
  if ('kind' in alias) return refuse(exchange.client, alias, []);
  writeJson(exchange, 200, {
    details: detailsOf(alias),
    model_info: infoOf(alias),
    capabilities: capabilitiesOf(alias),
    modified_at: timeOf(alias),
  });
}

function entryOf(alias: Alias): JsonObject {
  return {
    name: alias.id,
    model: alias.id,
    modified_at: timeOf(alias),
    // Weights that are elsewhere.
    size: 0,
    digest: '',
    details: detailsOf(alias),
  };
}

function timeOf({ createdS }: Alias): string {
  return new Date(createdS * 1_000).toISOString();
}

function detailsOf({ ownedBy }: Alias): JsonObject {
  return {
    parent_model: '',
    format: '',
    family: ownedBy,
    families: [ownedBy],
    parameter_size: '',
    quantization_level: '',
  };
}

/** Lengths are named where they are known: clients cut conversations by them. */
function infoOf({ ownedBy, candidates, listedDimensions }: Alias): JsonObject {
  const known = candidates.flatMap(({ rank, target }) =>
    rank === 0 && target.contextWindow !== null ? [target.contextWindow] : [],
  );
  return {
    'general.architecture': ownedBy,
    ...(known.length > 0 && { [`${ownedBy}.context_length`]: Math.max(...known) }),
    ...(listedDimensions !== null && { [`${ownedBy}.embedding_length`]: listedDimensions }),
  };
}

function capabilitiesOf({ listedAs, candidates }: Alias): string[] {
  if (listedAs === 'embedding') return ['embedding'];
  if (listedAs !== 'chat') return [];
  const own = candidates.filter(({ rank }) => rank === 0).map(({ target }) => target.capabilities);
  return [
    'completion',
    ...(own.some(({ tools }) => tools) ? ['tools'] : []),
    ...(own.some(({ vision }) => vision) ? ['vision'] : []),
    ...(own.some(({ reasoning }) => reasoning) ? ['thinking'] : []),
  ];
}

import { ollama } from '../../formats/dialects/ollama/index.ts';
import { asGenerate } from '../../formats/dialects/ollama/path-form.ts';
import { generateSchema } from '../../formats/dialects/ollama/request-fields.ts';
import { ollamaEmbeddingSchema } from '../../formats/embeddings/read-ollama-request.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { describedModel, listedModels } from '../../inference/models/ruled-names.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { type JsonObject, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { readBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { conversationRoute } from './conversation.ts';
import { keyRoute } from './key-route.ts';

/** Clients look whether a server is new enough for what they do: this API as of then. */
const apiVersion = '0.13.0';
const showBytesMax = 64 * 1024;

/** Ollama's own API over any provider, for editors and tools that speak nothing else (docs/ollama.md). */
export function ollamaRoutes(services: Services): Route[] {
  const free = (call: 'GET /api/tags' | 'GET /api/ps' | 'GET /api/version', summary: string, handle: Route['handle']) =>
    keyRoute(call, 'free', { dialect: ollama, summary, handle });
  const listed = (exchange: Exchange) =>
    writeJson(exchange, 200, { models: modelsOf(services, exchange).map(entryOf) });
  const conversation = { endpoint: 'chat', dialect: ollama, limitForm: 'openai' } as const;
  const embedding = bodyHandler(services, embeddingsEndpoint(services, 'ollama-embeddings'), asReceived);
  const embed = { endpoint: 'embeddings', dialect: ollama, body: { schema: ollamaEmbeddingSchema }, handle: embedding };
  const chat = { ...conversation, path: '/api/chat', summary: "A conversation in Ollama's format" };
  const generate = {
    ...conversation,
    path: '/api/generate',
    summary: "An answer to one text in Ollama's format",
    readBody: (_: Exchange, body: Buffer) => asGenerate(body),
  };
  return [
    named(services, conversationRoute(services, chat), { message: { role: 'assistant', content: '' } }),
    { ...named(services, conversationRoute(services, generate), { response: '' }), body: { schema: generateSchema } },
    ...[
      keyRoute('POST /api/embed', 'one', { ...embed, summary: "Embeddings in Ollama's format" }),
      keyRoute('POST /api/embeddings', 'one', { ...embed, summary: "The embedding of one text in Ollama's format" }),
    ].map((route) => named(services, route, null)),
    free('GET /api/tags', "The models of the key, in Ollama's format", listed),
    free('GET /api/ps', "The models that are ready, in Ollama's format: all", listed),
    keyRoute('POST /api/show', 'free', {
      dialect: ollama,
      endpoint: 'models',
      summary: "One model, in Ollama's format",
      handle: (exchange) => show(services, exchange),
    }),
    free('GET /api/version', "The version of Ollama's API", (exchange) =>
      writeJson(exchange, 200, { version: apiVersion }),
    ),
  ];
}

/**
 * The route for models that are named with Ollama's tag `:latest`, too. `loaded`: members of its answer to a request
 * that says nothing, by which clients have a model loaded; null: it has none.
 */
function named(services: Services, route: Route, loaded: JsonObject | null): Route {
  return {
    ...route,
    async handle(exchange) {
      // Of any content type, as Ollama takes them: `curl -d` sends its bodies as forms.
      const raw = await readBody(exchange, services.snapshots.current.config.server.body_limit);
      if (raw === null) return;
      const headers = exchange.admitted?.headers ?? [];
      if (!Buffer.isBuffer(raw)) return refuse(exchange.client, raw, headers);
      const model = loaded === null ? null : modelToLoad(raw);
      if (model !== null) return load(services, exchange, model, loaded);
      const { tenant } = callerOf(exchange);
      const tagged = raw.includes(`${latest}"`) ? taggedModel(raw) : null;
      const isTagged = tagged !== null && isFailure(aliasOf(services, exchange, `${tagged}${latest}`));
      const body = isTagged ? await services.bodies.withModel(tenant, raw, tagged) : raw;
      if (isFailure(body)) return refuse(exchange.client, body, headers);
      await route.handle({ ...exchange, givenBody: body });
    },
  };
}

/** The model of a body, without its tag; null: it has none. Only its own member counts, not one within a message. */
function taggedModel(raw: Buffer): string | null {
  const { model } = scanJson(raw, jsonDepthMax);
  const name = model === null ? '' : raw.toString('utf8', model.start, model.end);
  return name.endsWith(`${latest}"`) ? name.slice(1, -latest.length - 1) : null;
}

const latest = ':latest';
const loadBytesMax = 4_096;

/** The model of a request without any message or prompt; null: it has one, or is none that can be read. */
function modelToLoad(raw: Buffer): { name: string; isUnloaded: boolean } | null {
  if (raw.length > loadBytesMax) return null;
  const parsed = parseObject(raw);
  if (isFailure(parsed)) return null;
  const { model, messages, prompt, keep_alive: keepAlive } = parsed.body;
  const isEmpty = (messages === undefined || (Array.isArray(messages) && messages.length === 0)) && !prompt;
  return typeof model === 'string' && isEmpty ? { name: model, isUnloaded: keepAlive === 0 } : null;
}

/** Nothing is loaded here: every model is ready. */
function load(
  services: Services,
  exchange: Exchange,
  { name, isUnloaded }: { name: string; isUnloaded: boolean },
  members: JsonObject | null,
): void {
  const headers = exchange.admitted?.headers ?? [];
  const alias = taglessAlias(services, exchange, name);
  if (isFailure(alias)) return refuse(exchange.client, alias, headers);
  const created = new Date(services.clock.wallMs()).toISOString();
  const end = { done: true, done_reason: isUnloaded ? 'unload' : 'load' };
  writeJson(exchange, 200, { model: name, created_at: created, ...members, ...end }, headers);
}

function aliasOf(services: Services, exchange: Exchange, name: string): Alias | Failure {
  return describedModel(services.snapshots.current, name, callerOf(exchange));
}

/** A model by its name, or by its name and `:latest`. */
function taglessAlias(services: Services, exchange: Exchange, name: string): Alias | Failure {
  const alias = aliasOf(services, exchange, name);
  if (!isFailure(alias) || !name.endsWith(latest)) return alias;
  return aliasOf(services, exchange, name.slice(0, -latest.length));
}

/** Models for which this API has a path. */
function modelsOf(services: Services, exchange: Exchange): readonly Alias[] {
  const all = listedModels(services.snapshots.current, callerOf(exchange));
  return all.filter((alias) => capabilitiesOf(alias).length > 0);
}

async function show(services: Services, exchange: Exchange): Promise<void> {
  const raw = await readBody(exchange, showBytesMax);
  if (raw === null) return;
  const parsed = Buffer.isBuffer(raw) ? parseObject(raw) : raw;
  if (isFailure(parsed)) return refuse(exchange.client, parsed, []);
  const { model, name = model } = parsed.body;
  if (typeof name !== 'string') return refuse(exchange.client, invalid('model', "Missing 'model': send a name."), []);
  const alias = taglessAlias(services, exchange, name);
  if (isFailure(alias)) return refuse(exchange.client, alias, []);
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
  const capabilities = candidates.filter(({ rank }) => rank === 0).map(({ target }) => target.capabilities);
  return [
    'completion',
    ...(capabilities.some(({ tools }) => tools) ? ['tools'] : []),
    ...(capabilities.some(({ vision }) => vision) ? ['vision'] : []),
    ...(capabilities.some(({ reasoning }) => reasoning) ? ['thinking'] : []),
  ];
}

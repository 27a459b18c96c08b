import type { Price } from '../../formats/neutral/price.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { shownPrice } from '../../inference/models/rate-names.ts';
import { describedModel, listedModels } from '../../inference/models/ruled-names.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject } from '../../kernel/json.ts';
import type { Capabilities, Target } from '../../routing/target.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { describeGeminiModel, listGeminiModels } from './gemini-models.ts';
import { keyRoute } from './key-route.ts';
import { notOfList, shownPage } from './list-page.ts';

/** `GET /v1/models`, `GET /v1/models/{id}` and `GET /v1/model/info`: what this key may use, in OpenAI's shape or, by its headers, Anthropic's or Google's. */
export function modelRoutes(services: Services): Route[] {
  const list = (exchange: Exchange) => listModels(services, exchange);
  const describe = (exchange: Exchange) => describeModel(services, exchange);
  return [
    keyRoute('GET /v1/models', 'free', { summary: 'The models of the key', handle: list }),
    // Ids may contain slashes, encoded or not.
    keyRoute('GET /v1/models/*', 'free', { summary: 'One model', handle: describe }),
    keyRoute('GET /v1/model/info', 'free', {
      summary: "The models of the key in LiteLLM's form",
      handle(exchange) {
        const aliases = listedModels(services.snapshots.current, callerOf(exchange));
        writeJson(exchange, 200, { data: aliases.map((alias) => liteLlmEntry(services, alias)) });
      },
    }),
  ];
}

function listModels(services: Services, exchange: Exchange): void {
  if (usesGoogleShape(exchange)) return listGeminiModels(services, exchange);
  const aliases = listedModels(services.snapshots.current, callerOf(exchange));
  if (!usesAnthropicShape(exchange)) {
    return writeJson(exchange, 200, { object: 'list', data: aliases.map((alias) => openAiEntry(services, alias)) });
  }
  const page = anthropicPage(aliases, new URLSearchParams(exchange.search));
  if (isFailure(page)) return refuse(exchange.client, page, []);
  const data = page.aliases.map((alias) => anthropicEntry(services, alias));
  writeJson(exchange, 200, { object: 'list', ...shownPage(data, page.hasMore) });
}

function describeModel(services: Services, exchange: Exchange): Promise<void> | void {
  // Without a name it is the list, with a slash behind its path.
  if (exchange.params['*'] === '') return listModels(services, exchange);
  if (usesGoogleShape(exchange)) return describeGeminiModel(services, exchange);
  const alias = describedModel(services.snapshots.current, exchange.params['*'] ?? '', callerOf(exchange));
  if (isFailure(alias)) return refuse(exchange.client, alias, []);
  writeJson(
    exchange,
    200,
    usesAnthropicShape(exchange) ? anthropicEntry(services, alias) : openAiEntry(services, alias),
  );
}

/**
 * True where a target of the first rank can do it. The simulator takes pictures, so that clients can be tried, and does not
 * look at them.
 */
function canDo(alias: Alias, name: keyof Capabilities): boolean {
  const can = ({ capabilities, simulated }: Target) => capabilities[name] && !(simulated && name === 'vision');
  return alias.type === 'chat' && alias.candidates.some(({ rank, target }) => rank === 0 && can(target));
}

/** Google's SDKs ask below `/v1` from their version 3 on. */
function usesGoogleShape(exchange: Exchange): boolean {
  return headerOf(exchange, 'x-goog-api-key') !== undefined;
}

function usesAnthropicShape(exchange: Exchange): boolean {
  return headerOf(exchange, 'anthropic-version') !== undefined;
}

function openAiEntry(services: Services, alias: Alias): JsonObject {
  const targets = alias.candidates.filter(({ rank }) => rank === 0).map(({ target }) => target);
  const first = targets[0];
  return {
    id: alias.id,
    object: 'model',
    created: alias.createdS,
    owned_by: alias.ownedBy,
    model_type: alias.listedAs,
    tier: alias.tier,
    capabilities: {
      vision: canDo(alias, 'vision'),
      tools: canDo(alias, 'tools'),
      reasoning: canDo(alias, 'reasoning'),
      streaming: canDo(alias, 'streaming') || (alias.type === 'chat' && targets.length === 0),
    },
    context_window: largest(targets.map((target) => target.contextWindow)),
    max_output_tokens: largest(targets.map((target) => target.maxOutputTokens)),
    dimensions: alias.listedDimensions,
    pricing: first?.price == null || alias.pricesDiffer ? null : pricingOf(first.price, services.clock.wallMs()),
    ...openRouterMembers(alias, targets),
    status: services.health.status(
      alias.candidates.map(({ target }) => target),
      services.clock.monotonicMs(),
    ),
  };
}

/** LiteLLM's words for types of models; absent: the same. */
const modes: Readonly<Record<string, string>> = {
  speech: 'audio_speech',
  transcription: 'audio_transcription',
  image: 'image_generation',
  video: 'video_generation',
};

/** https://docs.litellm.ai/docs/proxy/model_management: clients skip an entry without `litellm_params.model`. */
function liteLlmEntry(services: Services, alias: Alias): JsonObject {
  const { capabilities, context_window, max_output_tokens, pricing, dimensions } = openAiEntry(services, alias);
  const target = alias.candidates[0]?.target;
  const can = capabilities as Record<string, boolean>;
  const usd = (rate: string) => (isObject(pricing) && pricing[rate] !== undefined ? Number(pricing[rate]) : null);
  return {
    model_name: alias.id,
    litellm_params: { model: target === undefined ? alias.id : `${target.provider}/${target.model}` },
    model_info: {
      id: alias.id,
      key: alias.id,
      db_model: false,
      mode: modes[alias.type] ?? alias.type,
      litellm_provider: target?.provider ?? null,
      max_input_tokens: context_window,
      max_tokens: max_output_tokens,
      max_output_tokens,
      output_vector_size: dimensions,
      input_cost_per_token: usd('prompt'),
      output_cost_per_token: usd('completion'),
      cache_read_input_token_cost: usd('input_cache_read'),
      cache_creation_input_token_cost: usd('input_cache_write'),
      supports_prompt_caching: usd('input_cache_read') !== null,
      supports_vision: can.vision,
      supports_function_calling: can.tools,
      supports_reasoning: can.reasoning,
      supports_native_streaming: can.streaming,
    },
  };
}

/** By our names and by OpenRouter's: USD for one token, as text. */
function pricingOf(price: Price, atMs: number): JsonObject {
  const shown = shownPrice(price, atMs);
  const each = (rate: number | null | undefined, per = 1e6) =>
    rate == null ? null : (rate / per).toFixed(12).replace(/\.?0+$/, '');
  const named = {
    prompt: each(shown.input),
    completion: each(shown.output),
    input_cache_read: each(shown.cached_input),
    input_cache_write: each(shown.cache_write),
    internal_reasoning: each(shown.reasoning),
    image: each(shown.image, 1),
    web_search: each(shown.web_search, 1),
    request: each(shown.request, 1),
  };
  return { ...shown, ...Object.fromEntries(Object.entries(named).filter(([, text]) => text !== null)) } as JsonObject;
}

/** Members that clients made for OpenRouter look for. */
function openRouterMembers({ type }: Alias, targets: readonly Target[]): JsonObject {
  const size = largest(targets.map((target) => target.contextWindow));
  const can = (name: 'vision' | 'audioIn') =>
    type === 'chat' && targets.some((target) => !target.simulated && target.capabilities[name]);
  const reads = type === 'transcription' ? ['audio'] : ['text', ...(can('vision') ? ['image'] : [])];
  const writes = {
    speech: 'audio',
    image: 'image',
    video: 'video',
    embedding: 'embeddings',
    rerank: 'rerank',
  } as Record<string, string>;
  return {
    context_length: size,
    architecture: { input_modalities: reads, output_modalities: [writes[type] ?? 'text'] },
    top_provider: {
      context_length: size,
      max_completion_tokens: largest(targets.map((target) => target.maxOutputTokens)),
      is_moderated: false,
    },
  };
}

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce((most, value) => (value === null ? most : Math.max(most ?? 0, value)), null);
}

/** Both shapes' members side by side: each client reads its own (clients.md §12). */
function anthropicEntry(services: Services, alias: Alias): JsonObject {
  const entry = openAiEntry(services, alias);
  const support = (name: keyof Capabilities) => ({ supported: canDo(alias, name) });
  return {
    ...entry,
    type: 'model',
    display_name: alias.id,
    created_at: new Date(alias.createdS * 1_000).toISOString(),
    max_input_tokens: entry.context_window ?? null,
    max_tokens: entry.max_output_tokens ?? null,
    capabilities: {
      ...(entry.capabilities as JsonObject),
      image_input: support('vision'),
      pdf_input: support('files'),
      structured_outputs: support('jsonSchema'),
      thinking: support('reasoning'),
    },
  };
}

const pageMax = 1_000;

function anthropicPage(
  aliases: readonly Alias[],
  query: URLSearchParams,
): { aliases: readonly Alias[]; hasMore: boolean } | Failure {
  const limit = Number(query.get('limit') ?? 20);
  if (!isWhole(limit, 1, pageMax)) {
    return invalid('limit', `limit must be a whole number from 1 to ${pageMax}.`);
  }
  const name = query.has('before_id') ? 'before_id' : 'after_id';
  const id = query.get(name);
  const at = aliases.findIndex((alias) => alias.id === id);
  if (id !== null && at === -1) return notOfList(name, id);
  if (name === 'before_id') return { aliases: aliases.slice(Math.max(0, at - limit), at), hasMore: at > limit };
  return { aliases: aliases.slice(at + 1, at + 1 + limit), hasMore: aliases.length > at + 1 + limit };
}

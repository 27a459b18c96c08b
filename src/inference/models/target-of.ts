import { builtInData, dataFactsOf } from '../../config/data-rules.ts';
import { isLoopback } from '../../config/loopback-host.ts';
import type { CapabilitiesConfig, ModelConfig, TargetConfig, TimeoutsConfig } from '../../config/schema.ts';
import { imageModelFacts } from '../../formats/media/images/format.ts';
import { createPrice } from '../../formats/neutral/price.ts';
import { isThinker, modelFacts } from '../../formats/providers/model-facts.ts';
import type { DiscoveredModel, Provider, QuirksOfModel } from '../../formats/providers/provider.ts';
import { dialectsOfModel, type ProviderConnection } from '../../formats/providers/provider-connection.ts';
import { quirksOf } from '../../formats/providers/quirks.ts';
import type { Capabilities, Target, Timeouts } from '../../routing/target.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { ListedModel, PriceList } from './price-list.ts';
import { configuredPrice } from './rate-names.ts';

const builtInTimeouts: Timeouts = { connectMs: 3_000, firstTokenMs: 30_000, idleMs: 30_000, totalMs: 600_000 };
/**
 * Silence of a model that thinks before it answers, or between two parts of its answer, where its API shows no
 * thoughts; and of a local server, which may load gigabytes of weights before its first token.
 */
const patientMs = 180_000;

/** Callers pay their vendor themselves. */
const paidElsewhere = createPrice([{ rates: { input: 0, output: 0 } }]);

type TargetSource = Pick<TargetConfig, 'provider' | 'model'> & Partial<TargetConfig>;

/**
 * One target with everything resolved: the target's word takes precedence over the alias's, the provider's and the
 * family's.
 */
export function targetOf(
  configured: ConfiguredProvider,
  source: TargetSource,
  alias: ModelConfig | null,
  known: DiscoveredModel | null,
  prices: PriceList | null,
): Target {
  const { connection, config, simulated } = configured;
  const { provider } = connection;
  const listed = listedModel(configured, source.priced_as ?? source.model, prices);
  const facts = modelFacts(source.model);
  const [dialect = provider.dialect, ...alsoSpeaks] = dialectsOfModel(connection, source.model);
  const { nativeN, ...others } = quirksOf(provider, source.model, dialect);
  // Only chat completions have a place for several choices.
  const quirks = { ...others, nativeN: nativeN && [dialect, ...alsoSpeaks].includes('openai-chat') };
  const capabilities = capabilitiesOf(quirks, facts, alias?.capabilities, source.capabilities);
  const thinks = source.capabilities?.reasoning ?? alias?.capabilities?.reasoning ?? isThinker(source.model);
  return {
    id: `${source.provider}/${source.model}`,
    provider: source.provider,
    model: source.model,
    priority: source.priority ?? 1,
    weight: source.weight ?? 1,
    ...(source.max_first_token !== undefined && { maxFirstTokenMs: source.max_first_token }),
    dialect,
    alsoSpeaks,
    credentials: [...connection.credentials.keys()].map((id, index) => ({
      id,
      ...(connection.callers !== null && { callers: true as const }),
      weight: config.credentials?.[index]?.weight ?? 1,
      rpm: config.credentials?.[index]?.rpm ?? null,
    })),
    capabilities,
    timeouts: timeoutsOf(provider, thinks, source.timeouts, alias?.timeouts, config.timeouts),
    contextWindow:
      source.context_window ??
      alias?.context_window ??
      known?.contextWindow ??
      facts?.contextWindow ??
      listed?.contextWindow ??
      null,
    maxOutputTokens:
      source.max_output_tokens ?? alias?.max_output_tokens ?? known?.maxOutputTokens ?? facts?.maxOutputTokens ?? null,
    ...(known?.retiresOn !== undefined && { retiresOn: known.retiresOn }),
    price: configuredPrice(source.price, connection.callers === null ? (listed?.price ?? null) : paidElsewhere),
    simulated,
    stream: source.stream ?? true,
    wholeByStream: first('whole_by_stream', source.timeouts, alias?.timeouts, config.timeouts) ?? false,
    body: source.body ?? {},
    data: simulated ? builtInData : dataFactsOf(config, source),
    ...promptCachingOf(configured, source, alias),
    ...(source.think_tags !== undefined && { thinkTags: source.think_tags }),
    ...embeddingOf(connection, source, alias),
    ...imageOf(connection, source),
    ...(connection.videos?.models.test(source.model) === true ? { video: connection.videos } : {}),
  };
}

/** The price list's facts of a provider's model. What runs on a machine of the operator's has no list price. */
function listedModel(configured: ConfiguredProvider, model: string, prices: PriceList | null): ListedModel | null {
  if (prices === null || !hasListPrices(configured)) return null;
  const { connection, config } = configured;
  const { provider, origin, basePath } = connection;
  const id =
    config.prices ?? (connection.isAtHome ? provider.prices : undefined) ?? prices.providerAt(origin + basePath);
  return id === null ? null : prices.find(id, model);
}

/** Whether it may be a service that a price list knows. */
export function hasListPrices({ connection, config, simulated }: ConfiguredProvider): boolean {
  if (config.prices !== undefined) return true;
  return !simulated && !connection.provider.local && !isLoopback(new URL(connection.origin).hostname);
}

/** Servers at other addresses may refuse a field of the vendor's, unless the operator says that this one takes it. */
function promptCachingOf(
  configured: ConfiguredProvider,
  source: TargetSource,
  alias: ModelConfig | null,
): Pick<Target, 'promptCaching'> {
  if ((source.prompt_cache ?? alias?.prompt_cache) !== 'auto') return {};
  const { provider, isAtHome } = configured.connection;
  const caching = provider.promptCaching?.(source.model) ?? null;
  if (caching === null) return {};
  const isTaken = caching.by === 'marks' || source.prompt_cache === 'auto' || isAtHome;
  return isTaken ? { promptCaching: caching } : {};
}

function embeddingOf(
  { embeds }: ProviderConnection,
  source: TargetSource,
  alias: ModelConfig | null,
): Pick<Target, 'embedding'> {
  if (embeds === null) return {};
  const { singly, batchTokens, takesTokens, dimensions } = embeds;
  const batch = singly?.(source.model) ? 1 : embeds.batch;
  const resizes = typeof dimensions === 'string' ? dimensions : dimensions.test(source.model) ? 'always' : 'never';
  return {
    embedding: {
      batch: source.batch ?? batch,
      batchTokens: batchTokens ?? null,
      takesTokens,
      dimensions: alias?.dimensions ?? null,
      resizes,
      space: source.space ?? alias?.space ?? null,
    },
  };
}

function imageOf({ images }: ProviderConnection, { model }: TargetSource): Pick<Target, 'image'> {
  const image = images === null ? null : imageModelFacts(images, model);
  return image === null ? {} : { image };
}

/** An ability that nobody denies counts as present: a wrong `false` would refuse what works. */
function capabilitiesOf(
  quirks: QuirksOfModel,
  facts: ReturnType<typeof modelFacts>,
  ...layers: (CapabilitiesConfig | undefined)[]
): Capabilities {
  const capability = (name: keyof CapabilitiesConfig, otherwise: boolean) =>
    layers.reduce((value, config) => config?.[name] ?? value, otherwise);
  return {
    vision: capability('vision', facts?.vision ?? true),
    tools: capability('tools', facts?.tools ?? true),
    reasoning: capability('reasoning', facts?.reasoning ?? true),
    audioIn: capability('audio_in', true),
    files: capability('files', quirks.files ?? true),
    logprobs: capability('logprobs', quirks.logprobs),
    jsonSchema: capability('json_schema', quirks.jsonSchema),
    nativeN: capability('native_n', quirks.nativeN),
    streaming: capability('streaming', true),
  };
}

function timeoutsOf({ local }: Provider, thinks: boolean, ...levels: (TimeoutsConfig | undefined)[]): Timeouts {
  const firstTokenMs = first('first_token', ...levels);
  return {
    connectMs: first('connect', ...levels) ?? builtInTimeouts.connectMs,
    firstTokenMs: firstTokenMs ?? (local || thinks ? patientMs : builtInTimeouts.firstTokenMs),
    ...(firstTokenMs === undefined && { firstTokenGrows: true }),
    idleMs: first('idle', ...levels) ?? (thinks ? patientMs : builtInTimeouts.idleMs),
    totalMs: first('total', ...levels) ?? builtInTimeouts.totalMs,
  };
}

/** The value of the first level that has one. */
function first<K extends keyof TimeoutsConfig>(
  name: K,
  ...levels: (TimeoutsConfig | undefined)[]
): TimeoutsConfig[K] | undefined {
  return levels.find((level) => level?.[name] !== undefined)?.[name];
}

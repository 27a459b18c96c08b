import type { CapabilitiesConfig, ModelConfig, TargetConfig, TimeoutsConfig } from '../../config/schema.ts';
import { imageModelFacts } from '../dialects/images/format.ts';
import { dialectsOfModel, type ProviderConnection } from '../providers/connection.ts';
import { modelFacts } from '../providers/model-facts.ts';
import type { DiscoveredModel, Provider, ProviderQuirks } from '../providers/provider.ts';
import { quirksOf } from '../providers/quirks.ts';
import type { Capabilities, Credential, Price, Target, Timeouts } from '../routing/target.ts';
import type { ConfiguredProvider } from './connections.ts';

const builtInTimeouts: Timeouts = { connectMs: 3_000, firstTokenMs: 30_000, idleMs: 30_000, totalMs: 600_000 };
/** A local server may load gigabytes of weights before its first token. */
const localFirstTokenMs = 180_000;

type TargetSource = Pick<TargetConfig, 'provider' | 'model'> & Partial<TargetConfig>;

/** One target with everything resolved: the target's word wins over the alias's, the provider's and the family's. */
export function targetOf(
  { connection, config, simulated }: ConfiguredProvider,
  source: TargetSource,
  alias: ModelConfig | null,
  known: DiscoveredModel | null,
): Target {
  const { provider } = connection;
  const facts = modelFacts(source.model);
  const [dialect = provider.dialect, ...alsoSpeaks] = dialectsOfModel(connection, source.model);
  const { nativeN, ...others } = quirksOf(provider, source.model, dialect);
  // Of the formats, chat completions alone have a place for several choices.
  const quirks = { ...others, nativeN: nativeN && [dialect, ...alsoSpeaks].includes('openai-chat') };
  return {
    id: `${source.provider}/${source.model}`,
    provider: source.provider,
    model: source.model,
    priority: source.priority ?? 1,
    weight: source.weight ?? 1,
    dialect,
    alsoSpeaks,
    credentials: credentialsOf(connection.credentials.keys(), config),
    capabilities: capabilitiesOf(quirks, facts, alias?.capabilities, source.capabilities),
    timeouts: timeoutsOf(provider, source.timeouts, alias?.timeouts, config.timeouts),
    contextWindow:
      source.context_window ?? alias?.context_window ?? known?.contextWindow ?? facts?.contextWindow ?? null,
    maxOutputTokens:
      source.max_output_tokens ?? alias?.max_output_tokens ?? known?.maxOutputTokens ?? facts?.maxOutputTokens ?? null,
    price: priceOf(source.price),
    simulated,
    stream: source.stream ?? true,
    wholeByStream: first('whole_by_stream', source.timeouts, alias?.timeouts, config.timeouts) ?? false,
    body: source.body ?? {},
    ...embeddingOf(connection, source, alias),
    ...imageOf(connection, source),
  };
}

function priceOf(price: TargetConfig['price']): Price | null {
  if (price === undefined || Object.keys(price).length === 0) return null;
  const { image, minute, million_chars: millionCharacters } = price;
  return {
    input: price.input ?? 0,
    output: price.output ?? 0,
    cachedInput: price.cached_input ?? null,
    ...(image !== undefined && { image }),
    ...(minute !== undefined && { minute }),
    ...(millionCharacters !== undefined && { millionCharacters }),
  };
}

function embeddingOf(
  { embeds }: ProviderConnection,
  source: TargetSource,
  alias: ModelConfig | null,
): Pick<Target, 'embedding'> {
  if (embeds === null) return {};
  const { batch, batchTokens, takesTokens, dimensions } = embeds;
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

function credentialsOf(ids: Iterable<string>, config: ConfiguredProvider['config']): Credential[] {
  return [...ids].map((id, index) => ({
    id,
    weight: config.credentials?.[index]?.weight ?? 1,
    rpm: config.credentials?.[index]?.rpm ?? null,
  }));
}

/** What nobody denies is taken to be there: a wrong `false` would refuse what works. */
function capabilitiesOf(
  quirks: ProviderQuirks,
  facts: ReturnType<typeof modelFacts>,
  ...told: (CapabilitiesConfig | undefined)[]
): Capabilities {
  const say = (name: keyof CapabilitiesConfig, otherwise: boolean) =>
    told.reduce((value, config) => config?.[name] ?? value, otherwise);
  return {
    vision: say('vision', facts?.vision ?? true),
    tools: say('tools', facts?.tools ?? true),
    reasoning: say('reasoning', facts?.reasoning ?? true),
    audioIn: say('audio_in', true),
    logprobs: say('logprobs', quirks.logprobs),
    jsonSchema: say('json_schema', quirks.jsonSchema),
    nativeN: say('native_n', quirks.nativeN),
    streaming: say('streaming', true),
  };
}

function timeoutsOf(provider: Provider, ...levels: (TimeoutsConfig | undefined)[]): Timeouts {
  return {
    connectMs: first('connect', ...levels) ?? builtInTimeouts.connectMs,
    firstTokenMs:
      first('first_token', ...levels) ?? (provider.local ? localFirstTokenMs : builtInTimeouts.firstTokenMs),
    idleMs: first('idle', ...levels) ?? builtInTimeouts.idleMs,
    totalMs: first('total', ...levels) ?? builtInTimeouts.totalMs,
  };
}

/** What the first level that says so says. */
function first<K extends keyof TimeoutsConfig>(
  name: K,
  ...levels: (TimeoutsConfig | undefined)[]
): TimeoutsConfig[K] | undefined {
  return levels.find((level) => level?.[name] !== undefined)?.[name];
}

import { createPlanBook, type PlanBook } from '../../books/metering/plan-book.ts';
import { builtProviders, namedProviders } from '../../config/environment-providers.ts';
import { isLoopback } from '../../config/loopback-host.ts';
import type { Config } from '../../config/schema.ts';
import { builtInEngines } from '../../engines/built-in-engines.ts';
import type { Engines } from '../../engines/local-engines.ts';
import { providersInEnvironment } from '../../formats/providers/catalog.ts';
import type { LocalServer } from '../../formats/providers/probe-local.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import type { OutVariants } from './alias.ts';
import { type ConfiguredProvider, connectProviders } from './connections.ts';
import { contractDimensions, embeddingProblems, embeddingSource } from './contract-embeddings.ts';
import { contractMedia, type MediaType, mediaSource, mediaTypes } from './contract-media.ts';
import type { KnownModelStore } from './known-models.ts';
import { createModelTable } from './model-table.ts';
import type { PriceList } from './price-list.ts';
import { promptTable } from './prompts.ts';
import { routeRules } from './route-rules.ts';
import type { Snapshot } from './snapshot.ts';
import { type ScopedStep, stepTable } from './steps.ts';

/** The simulator's provider name; its models are `sim/…`. */
export const simulatorName = 'sim';

export interface SnapshotSources {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  /** Servers on this machine that the operator has confirmed. */
  locals: readonly LocalServer[];
  known: KnownModelStore;
  /** Absent or null: prices are those of the configuration alone. */
  prices?: PriceList | null;
  /** Engines of this machine; absent: those of every Culvert. */
  engines?: Engines;
  /** Address of the simulator; null when it does not run yet. */
  simulatorUrl: string | null;
  nowMs: number;
  /** Over requests and answers, besides those of the configuration. Default: none. */
  steps?: readonly ScopedStep[];
  /** The plans in force at any later time. Default: those of the file. */
  plans?: () => PlanBook;
  /** Live. Absent: all variants take part. */
  out?: OutVariants | undefined;
}

export type BuiltSnapshot =
  | { kind: 'built'; snapshot: Snapshot; problems: string[] }
  /** Something that every start has would be missing without it: start it and build again. */
  | { kind: 'needs-simulator' };

/**
 * One state of everything that configuration decides: the file's providers, or those of keys in the environment;
 * confirmed local servers; the simulator for what no provider does.
 */
export function buildSnapshot(sources: SnapshotSources): BuiltSnapshot {
  const { config, env, known, engines, simulatorUrl, nowMs } = sources;
  const plans = sources.plans ?? plansOfFile(config);
  const providers = { ...namedProviders(config, env), ...localProviders(config, sources.locals) };
  const real = connectProviders(providers, null).connected;
  const stoodIn = simulatedModels(sources, real);
  const needsSimulator = stoodIn.length > 0;
  if (needsSimulator && simulatorUrl === null) return { kind: 'needs-simulator' };
  if (needsSimulator) {
    Object.assign(providers, builtProviders({ [simulatorName]: { type: 'openai', base_url: `${simulatorUrl}/v1` } }));
  }
  const { connected, problems } = connectProviders(providers, needsSimulator ? simulatorName : null);
  problems.push(...embeddingProblems({ models: config.models, providers: connected }));
  const simulator = connected.get(simulatorName);
  if (needsSimulator && simulator !== undefined) known.put(simulator, stoodIn);
  const models = createModelTable({
    models: config.models,
    providers: connected,
    known: known.of(connected),
    prices: sources.prices ?? null,
    unheard: known.unheard(connected),
    engines: engines?.embedding ?? builtInEngines,
    ...(engines !== undefined && { speechEngines: engines.speech, transcriptionEngines: engines.transcription }),
    unknownModels: config.server.unknown_models ?? (isConfigured(config, env) ? 'refuse' : 'nearest'),
    plans,
    nowS: Math.floor(nowMs / 1_000),
  });
  const steps = stepTable(sources.steps ?? []);
  const prompts = promptTable(config.prompts);
  const rules = routeRules(config.routes);
  const varies = Object.values(config.models).some(({ variants }) => variants !== undefined);
  return {
    kind: 'built',
    snapshot: {
      config,
      providers: connected,
      models,
      localSearch: localSearch(sources),
      steps,
      prompts,
      rules,
      varies,
      takesCallers: [...connected.values()].some(({ connection }) => connection.callers !== null),
      out: sources.out,
      pricing: null,
    },
    problems,
  };
}

/** Whether anybody has configured models. */
function isConfigured({ providers, models }: Config, env: SnapshotSources['env']): boolean {
  return [providers, models].some((named) => Object.keys(named).length > 0) || providersInEnvironment(env).length > 0;
}

function plansOfFile(config: Config): () => PlanBook {
  const book = createPlanBook({ config, stored: [] });
  return () => book;
}

/** Confirmed servers on this machine, except those that a configured provider points at already. */
function localProviders(config: Config, locals: readonly LocalServer[]): Config['providers'] {
  const taken = new Set(Object.values(config.providers).map((provider) => originOf(provider.base_url)));
  const free = locals.filter(
    ({ type, url, use }) => use === 'provider' && !taken.has(originOf(url)) && !Object.hasOwn(config.providers, type),
  );
  return builtProviders(
    Object.fromEntries(free.map(({ type, url }) => [type, { type, base_url: url, all_models: true }])),
  );
}

function localSearch({ config, locals }: SnapshotSources): string | null {
  if (config.tools.search.providers.length > 0) return null;
  return locals.find(({ use }) => use === 'search')?.url ?? null;
}

function originOf(url: string | undefined): string | null {
  return url === undefined ? null : new URL(url).origin.replace('localhost', '127.0.0.1');
}

/** The models of the simulator: all when it is on, else those that no provider has; none when it is off. */
function simulatedModels(
  { config, known, engines }: SnapshotSources,
  providers: ReadonlyMap<string, ConfiguredProvider>,
): DiscoveredModel[] {
  const named = (type: DiscoveredModel['type']): DiscoveredModel => ({ id: `${simulatorName}/${type}`, type });
  const chat = named('chat');
  const embedding = { ...named('embedding'), dimensions: contractDimensions };
  if (config.simulator === 'on') return [chat, embedding, ...mediaTypes.map(named)];
  if (config.simulator === 'off' || !isLoopback(config.server.host)) return [];
  const parts = {
    models: config.models,
    providers,
    known: known.of(providers),
    unheard: known.unheard(providers),
    ...(engines !== undefined && { speechEngines: engines.speech, transcriptionEngines: engines.transcription }),
  };
  return [
    ...([...providers.values()].some(({ connection }) => connection.chats) ? [] : [chat]),
    ...(embeddingSource(parts).kind === 'none' ? [embedding] : []),
    ...mediaTypes.filter((type) => isPromised(type, config) && mediaSource(type, parts).kind === 'none').map(named),
  ];
}

/** The contract names no model for pictures: where the configuration names models, callers could not ask for it. */
function isPromised(type: MediaType, { models }: Config): boolean {
  return contractMedia[type].length > 0 || Object.keys(models).length === 0;
}

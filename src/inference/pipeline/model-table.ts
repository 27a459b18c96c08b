import { matchesGlob } from '../../auth/model-glob.ts';
import type { Principal } from '../../auth/principal.ts';
import { aliasFor, starOf, withStar } from '../../config/alias-pattern.ts';
import type { Config, ModelConfig, ModelType } from '../../config/schema.ts';
import type { Failure } from '../../kernel/failure.ts';
import { nearest } from '../../kernel/nearest.ts';
import { type EmbeddingEngine, engineProvider } from '../engines/embedding-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { TranscriptionEngine } from '../engines/transcription-engine.ts';
import { aliasTable } from '../providers/alias-table.ts';
import { embeddingFacts } from '../providers/embedding-models.ts';
import type { DiscoveredModel } from '../providers/provider.ts';
import type { RouteCandidate } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import type { ConfiguredProvider } from './connections.ts';
import { type EmbeddingSource, embeddingSource } from './contract-embeddings.ts';
import { type MediaSources, mediaSources } from './contract-media.ts';
import { engineTarget } from './embed-engine.ts';
import { embeddingEngineAlias, soundEngineAlias } from './engine-alias.ts';
import { promisedAliases, promisedSource } from './promised-aliases.ts';
import { speechEngineTarget } from './speech-engine-target.ts';
import { targetOf } from './target-of.ts';

/** What callers name, with everything a request needs to know of it. */
export interface Alias {
  id: string;
  type: ModelType;
  /** `model_type` in the list; never decides what it may be used for. */
  listedAs: ModelType;
  tier: string | null;
  /** Units a request costs, times the endpoint's own cost. */
  cost: number;
  attempts: number;
  ownedBy: string;
  createdS: number;
  /** Length of its vectors as the configuration or the contract declares it; null when neither does. */
  dimensions: number | null;
  /** What the list shows: the declared length, else what is publicly known of its model. */
  listedDimensions: number | null;
  /** Voices by the name that callers use; absent: none is renamed. */
  voices?: Readonly<Record<string, string>>;
  /** Its own targets (rank 0), then its fallbacks' (rank 1…). */
  candidates: readonly RouteCandidate[];
  /** Longest time a request may take, ms. */
  totalMs: number;
}

export interface ModelTable {
  /** The alias, byte for byte; else what there is, with the nearest spelling. */
  resolve(model: string, principal: Principal): Alias | Failure;
  /** All that this key may use, in config order; then what is there without being configured. */
  list(principal: Principal): readonly Alias[];
  /** Whoever may use them, in the same order. */
  all(): readonly Alias[];
  /** How many configuration and providers name; what is there in any case is not counted. */
  readonly size: number;
  /** Providers whose models would be aliases too, had their lists been heard (`KnownModelStore.unheard`). */
  readonly unheard: readonly string[];
  /** Who answers for the contract's embedding models, where the configuration does not name them. */
  readonly embeddingSource: EmbeddingSource;
  /** Who answers for its models of speech and transcription, and for pictures, likewise. */
  readonly mediaSources: MediaSources;
  /** Every target, for health to forget the others. */
  targets(): readonly Target[];
  /**
   * Those of the aliases that configuration and providers name: whether these can be served says whether this process
   * can. What is there in any case says nothing of it.
   */
  namedTargets(): readonly Target[];
}

/** What the providers' own lists name, by the operator's name of the provider. */
export type KnownModels = ReadonlyMap<string, readonly DiscoveredModel[]>;

export interface ModelTableParts {
  models: Config['models'];
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** Without `models`, every one of them is an alias. */
  known: KnownModels;
  /** Providers whose list nobody has heard yet. */
  unheard: readonly string[];
  /** Models of this process: always aliases. */
  engines: ReadonlyMap<string, Pick<EmbeddingEngine, 'model' | 'dimensions'>>;
  /** The same for those that speak. */
  speechEngines?: ReadonlyMap<string, Pick<SpeechEngine, 'model'>>;
  transcriptionEngines?: ReadonlyMap<string, Pick<TranscriptionEngine, 'model'>>;
  /** Whether the plan, as it stands now, may use this alias. */
  planAllows(plan: string, alias: string): boolean;
  nowS: number;
}

/** What a pattern has matched is kept, up to this many: callers choose the names. */
const matchedAliasesMax = 1_000;

/** An unheard provider is asked again within this time at first. */
const unheardRetryMs = 5_000;

export function createModelTable(parts: ModelTableParts): ModelTable {
  const aliases = new Map<string, Alias>();
  const knownByTarget = new Map<string, DiscoveredModel>();
  for (const [provider, models] of parts.known)
    for (const model of models) knownByTarget.set(`${provider}/${model.id}`, model);
  const matched = new Map<string, Alias | null>();

  const configured = Object.entries(parts.models);
  const unheard = configured.length === 0 ? parts.unheard : [];
  const hasPatterns = configured.some(([id]) => id.includes('*'));
  if (configured.length === 0) {
    for (const { alias, provider, model } of aliasTable(parts.known).values()) {
      // The simulator's ids begin with its own name.
      if (!parts.providers.get(provider)?.simulated) aliases.set(alias, aliasOfKnown(alias, provider, model));
      else if (alias === model.id) aliases.set(alias, aliasOfKnown(alias, provider, model));
    }
  }
  for (const [id, model] of configured) {
    if (id.includes('*')) {
      for (const known of knownMatches(id, model))
        if (!aliases.has(known)) aliases.set(known, aliasOf(known, model, starOf(id, known)));
    } else {
      aliases.set(id, aliasOf(id, model, null));
    }
  }

  const source = embeddingSource(parts);
  const media = mediaSources(parts);
  const named = [...aliases.values()];
  const engineAliases = [
    ...[...parts.engines.values()].map((engine) => embeddingEngineAlias(engine, parts.nowS)),
    ...modelsOf(parts.speechEngines).map((model) => soundEngineAlias('speech', model, parts.nowS)),
    ...modelsOf(parts.transcriptionEngines).map((model) => soundEngineAlias('transcription', model, parts.nowS)),
  ];
  for (const alias of engineAliases) if (!aliases.has(alias.id)) aliases.set(alias.id, alias);
  for (const alias of promisedAliases({
    models: parts.models,
    aliases,
    embedding: source,
    media,
    aliasOfKnown: (provider, model) => aliasOfKnown('', provider, model),
    simulated: simulatedFor,
    nowS: parts.nowS,
  })) {
    aliases.set(alias.id, alias);
  }

  function simulatedFor(type: ModelType): Alias | null {
    const simulator = [...parts.providers].find(([, { simulated }]) => simulated)?.[0];
    const model = parts.known.get(simulator ?? '')?.find((known) => known.type === type);
    return simulator === undefined || model === undefined ? null : aliasOfKnown('', simulator, model);
  }

  function aliasOf(id: string, model: ModelConfig, star: string | null): Alias {
    const own = targetsOf(model, star);
    const candidates: RouteCandidate[] = own.map((target) => ({ target, rank: 0 }));
    let rank = 0;
    for (const fallback of fallbacksOf(model, star, new Set([id]))) {
      rank++;
      for (const target of targetsOf(fallback.model, fallback.star)) candidates.push({ target, rank });
    }
    return {
      id,
      type: model.type,
      listedAs: model.listed_as ?? model.type,
      tier: model.tier ?? null,
      cost: model.cost,
      attempts: model.attempts,
      ownedBy: own[0]?.provider ?? 'culvert',
      createdS: parts.nowS,
      dimensions: model.dimensions ?? null,
      ...(model.voices !== undefined && { voices: model.voices }),
      listedDimensions: model.dimensions ?? (model.type === 'embedding' ? usualDimensions(own[0]?.model) : null),
      candidates,
      totalMs: Math.max(1, ...candidates.map(({ target }) => target.timeouts.totalMs)),
    };
  }

  function targetsOf(model: ModelConfig, star: string | null): Target[] {
    return model.targets.flatMap((target) => {
      if (target.provider === engineProvider) {
        const { priority, weight } = target;
        const engine = parts.engines.get(target.model);
        if (engine !== undefined) return [{ ...engineTarget(engine), priority, weight }];
        const ofSound = parts.speechEngines?.get(target.model) ?? parts.transcriptionEngines?.get(target.model);
        return ofSound === undefined ? [] : [{ ...speechEngineTarget(ofSound), priority, weight }];
      }
      const provider = parts.providers.get(target.provider);
      if (provider === undefined) return [];
      const id = withStar(target.model, star);
      return [
        targetOf(provider, { ...target, model: id }, model, knownByTarget.get(`${target.provider}/${id}`) ?? null),
      ];
    });
  }

  /** Fallbacks of fallbacks come after them; an alias is never visited twice. What * matched carries over. */
  function fallbacksOf(
    model: ModelConfig,
    star: string | null,
    seen: Set<string>,
  ): { model: ModelConfig; star: string | null }[] {
    return model.fallbacks.flatMap((name) => {
      const id = withStar(name, star);
      const next = aliasFor(parts.models, id);
      if (next === null || seen.has(id)) return [];
      seen.add(id);
      return [next, ...fallbacksOf(next.model, next.star, seen)];
    });
  }

  function aliasOfKnown(id: string, providerName: string, known: DiscoveredModel): Alias {
    const provider = parts.providers.get(providerName)!;
    const target = targetOf(provider, { provider: providerName, model: known.id }, null, known);
    return {
      id,
      type: known.type,
      listedAs: known.type,
      tier: null,
      cost: provider.simulated ? 0 : 1,
      attempts: 4,
      ownedBy: providerName,
      createdS: known.createdS ?? parts.nowS,
      dimensions: null,
      listedDimensions: known.type === 'embedding' ? (known.dimensions ?? usualDimensions(known.id)) : null,
      candidates: [{ target, rank: 0 }],
      totalMs: target.timeouts.totalMs,
    };
  }

  function knownMatches(pattern: string, model: ModelConfig): string[] {
    const ids = new Set<string>();
    for (const target of model.targets) {
      for (const known of parts.known.get(target.provider) ?? []) {
        const star = starOf(target.model, known.id);
        if (star !== null) ids.add(withStar(pattern, star));
      }
    }
    return [...ids];
  }

  function find(model: string): Alias | null {
    const exact = aliases.get(model);
    if (exact !== undefined) return exact;
    if (!hasPatterns) return null;
    const before = matched.get(model);
    if (before !== undefined) return before;
    const hit = aliasFor(parts.models, model);
    const alias = hit === null ? null : aliasOf(model, hit.model, hit.star);
    if (matched.size >= matchedAliasesMax) matched.delete(matched.keys().next().value!);
    matched.set(model, alias);
    return alias;
  }

  function allowed(alias: string, principal: Principal): boolean {
    const { allowedModels } = principal;
    return (
      (allowedModels === null || allowedModels.some((glob) => matchesGlob(glob, alias))) &&
      parts.planAllows(principal.plan, alias)
    );
  }

  /** Whose list may yet name it; null when its own provider's has been heard, or it is not for this key. */
  function mayComeFrom(model: string, principal: Principal): string | null {
    const promised = promisedSource(model, { embedding: source, media });
    if (promised?.kind === 'unheard' && allowed(model, principal)) return promised.provider;
    if (unheard.length === 0 || !allowed(model, principal)) return null;
    const named = [...parts.providers.keys()].find((name) => model.startsWith(`${name}/`));
    return named === undefined || unheard.includes(named) ? (named ?? unheard.join(', ')) : null;
  }

  const list = (principal: Principal) => [...aliases.values()].filter((alias) => allowed(alias.id, principal));

  return {
    resolve(model, principal) {
      const alias = find(model);
      if (alias !== null && allowed(alias.id, principal)) return alias;
      const unheardOf = alias === null ? mayComeFrom(model, principal) : null;
      if (unheardOf !== null) {
        const shown = model.slice(0, 256);
        const message = `Whether there is a model '${shown}' is not known yet: the list of models of ${unheardOf} could not be read so far. It is asked again.`;
        return { kind: 'no-target', model: shown, retryAfterMs: unheardRetryMs, message };
      }
      const allowedModels = list(principal).map(({ id }) => id);
      return {
        kind: alias === null ? 'model-unknown' : 'model-not-in-plan',
        model: model.slice(0, 256),
        allowedModels,
        nearest: nearest(model, allowedModels),
      };
    },
    list,
    all: () => [...aliases.values()],
    size: named.length,
    unheard,
    embeddingSource: source,
    mediaSources: media,
    targets: () => targetsBehind(aliases.values()),
    namedTargets: () => targetsBehind(named),
  };
}

function targetsBehind(aliases: Iterable<Alias>): Target[] {
  return [...aliases].flatMap((alias) => alias.candidates.map(({ target }) => target));
}

function modelsOf(engines: ReadonlyMap<string, { model: string }> = new Map()): string[] {
  return [...engines.values()].map(({ model }) => model);
}

function usualDimensions(model: string | undefined): number | null {
  return model === undefined ? null : (embeddingFacts(model)?.native ?? null);
}

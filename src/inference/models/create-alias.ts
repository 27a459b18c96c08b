import { hash } from 'node:crypto';
import { aliasFor, starOf, withStar } from '../../config/alias-pattern.ts';
import { shadowVariant } from '../../config/cross-check-models.ts';
import type { ModelConfig, ModelType } from '../../config/schema.ts';
import { engineProvider } from '../../engines/embedding-engine.ts';
import { embeddingFacts } from '../../formats/providers/embedding-models.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import { builtInHedge, type HedgePolicy, type RouteCandidate } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias, AliasCache, ModelTableParts } from './alias.ts';
import type { ConfiguredProvider } from './connections.ts';
import { embeddingEngineTarget, plainAlias, soundEngineTarget } from './engine-target.ts';
import { targetOf } from './target-of.ts';

type AliasParts = Pick<
  ModelTableParts,
  'models' | 'providers' | 'known' | 'prices' | 'engines' | 'speechEngines' | 'transcriptionEngines' | 'nowS'
>;

/** Makes aliases from the configuration and the providers' lists. */
export function createAliasMaker(parts: AliasParts) {
  const knownByTarget = new Map<string, DiscoveredModel>();
  for (const [provider, models] of parts.known)
    for (const model of models) knownByTarget.set(`${provider}/${model.id}`, model);

  return {
    /** `star`: what the `*` of a pattern matched. */
    aliasOf,
    /** For a model in a provider's list, under another name or under `id`. */
    aliasOfKnown,
    /** Names that match a pattern, as far as its targets' providers list them. */
    knownMatches: (pattern: string, model: ModelConfig): string[] => matchingTargets(parts.known, pattern, model),
    /** The simulator's model of a type; null where there is no simulator, or it has none. */
    simulatedFor,
  };

  function simulatedFor(type: ModelType): Alias | null {
    const simulator = [...parts.providers].find(([, { simulated }]) => simulated)?.[0];
    const model = parts.known.get(simulator ?? '')?.find((known) => known.type === type);
    return simulator === undefined || model === undefined ? null : aliasOfKnown('', simulator, model);
  }

  function aliasOf(id: string, model: ModelConfig, star: string | null): Alias {
    const targets = targetsOf(model, star);
    const others = fallbacksOf(model, star, new Set([id])).flatMap((fallback, at) =>
      targetsOf(fallback.model, fallback.star).map((target) => ({ target, rank: at + 1 })),
    );
    const candidates = [...asCandidates(targets), ...others];
    const alias: Alias = {
      id,
      type: model.type,
      listedAs: model.listed_as ?? model.type,
      tier: model.tier ?? null,
      cost: model.cost,
      attempts: model.attempts,
      hedge: hedgeOf(model),
      ...(model.prefer !== undefined && { prefer: model.prefer }),
      ...(model.on_filter === 'next' && { onFilter: model.on_filter }),
      ...(model.answer_model !== undefined && { answerModel: model.answer_model }),
      ...(model.quality !== undefined && { quality: model.quality }),
      ...(cachesPrompts(model) && { promptCache: 'auto' as const }),
      ...(model.cache !== undefined && { cache: cacheOf(model.cache) }),
      ownedBy: targets[0]?.provider ?? 'culvert',
      createdS: parts.nowS,
      ...(model.guards !== undefined && { guards: model.guards }),
      dimensions: model.dimensions ?? null,
      ...(model.voices !== undefined && { voices: model.voices }),
      ...(model.realtime !== undefined && { realtime: model.realtime }),
      ...onlyOf(model),
      listedDimensions: model.dimensions ?? (model.type === 'embedding' ? usualDimensions(targets[0]?.model) : null),
      candidates,
      totalMs: totalMsOf(candidates),
    };
    const shadowed = withShadow(alias, model, ({ targets = [], model: other }) => {
      const there = other === undefined ? null : aliasFor(parts.models, withStar(other, star));
      return targetsOf(there?.model ?? { ...model, targets }, there === null ? star : there.star);
    });
    return withVariants(shadowed, model, (targets) => [
      ...asCandidates(targetsOf({ ...model, targets }, star)),
      ...others,
    ]);
  }

  function targetsOf(model: ModelConfig, star: string | null): Target[] {
    return model.targets.flatMap((target) => {
      if (target.provider === engineProvider) {
        const { priority, weight } = target;
        const engine = parts.engines.get(target.model);
        if (engine !== undefined) return [{ ...embeddingEngineTarget(engine), priority, weight }];
        const ofSound = parts.speechEngines?.get(target.model) ?? parts.transcriptionEngines?.get(target.model);
        return ofSound === undefined ? [] : [{ ...soundEngineTarget(ofSound), priority, weight }];
      }
      const provider = parts.providers.get(target.provider);
      if (provider === undefined) return [];
      const id = star === null ? target.model : idAt(provider, withStar(target.model, star));
      return [
        targetOf(
          provider,
          { ...target, model: id },
          model,
          knownByTarget.get(`${target.provider}/${id}`) ?? null,
          parts.prices,
        ),
      ];
    });
  }

  /** Fallbacks of fallbacks come after them; an alias is never visited twice. The match of * carries over. */
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
    const provider = knownEntry(parts.providers, providerName);
    const target = targetOf(provider, { provider: providerName, model: known.id }, null, known, parts.prices);
    return {
      ...plainAlias(known.type, target, known.createdS ?? parts.nowS),
      id,
      cost: provider.simulated ? 0 : 1,
      attempts: 4,
      listedDimensions: known.type === 'embedding' ? (known.dimensions ?? usualDimensions(known.id)) : null,
    };
  }
}

/** The provider's id of a model whose name callers chose. */
function idAt({ connection: { provider } }: ConfiguredProvider, named: string): string {
  return provider.idOf?.(named) ?? named;
}

/** A shadow fails alone: it has no fallbacks, no cache, no checks and no hedge. */
function withShadow(
  alias: Alias,
  { shadow }: ModelConfig,
  targetsAt: (shadow: NonNullable<ModelConfig['shadow']>) => Target[],
): Alias {
  if (shadow === undefined) return alias;
  const candidates = asCandidates(targetsAt(shadow));
  const { cache: _, quality: __, onFilter: ___, ...plain } = alias;
  const facts = { candidates, totalMs: totalMsOf(candidates), hedge: { ...builtInHedge, atMost: 0 } };
  return { ...alias, shadow: { share: shadow.share, alias: { ...plain, ...facts, variant: shadowVariant } } };
}

function withVariants(
  alias: Alias,
  model: ModelConfig,
  candidatesAt: (targets: ModelConfig['targets']) => RouteCandidate[],
): Alias {
  const { variants, sticky, rollback } = model;
  if (variants === undefined) return alias;
  const all = Object.entries(variants).map(([variant, { weight, prompt, parameters, targets }]) => {
    const candidates = targets === undefined ? alias.candidates : candidatesAt(targets);
    return { weight, prompt, parameters, alias: { ...alias, candidates, totalMs: totalMsOf(candidates), variant } };
  });
  return { ...alias, variants: { sticky, ...(rollback !== undefined && { shape: shapeOf(model) }), all } };
}

/** Names what variants of a model are: another definition is another experiment. */
export function shapeOf({ variants, targets }: Pick<ModelConfig, 'variants' | 'targets'>): string {
  return hash('sha256', JSON.stringify([targets, Object.entries(variants ?? {})]), 'hex').slice(0, 32);
}

function asCandidates(targets: readonly Target[]): RouteCandidate[] {
  return targets.map((target) => ({ target, rank: 0 }));
}

function totalMsOf(candidates: readonly RouteCandidate[]): number {
  return Math.max(1, ...candidates.map(({ target }) => target.timeouts.totalMs));
}

function matchingTargets(known: AliasParts['known'], pattern: string, model: ModelConfig): string[] {
  const ids = new Set<string>();
  for (const target of model.targets) {
    for (const listed of known.get(target.provider) ?? []) {
      const star = starOf(target.model, listed.id);
      if (star !== null) ids.add(withStar(pattern, star));
    }
  }
  return [...ids];
}

/** `after` is a percentile such as p95. */
function hedgeOf({ hedge }: ModelConfig): HedgePolicy {
  return hedge === undefined ? builtInHedge : { atMost: hedge.at_most, after: Number(hedge.after.slice(1)) / 100 };
}

function cacheOf({ ttl, scope, tool_calls, semantic }: NonNullable<ModelConfig['cache']>): AliasCache {
  const exact: AliasCache = { ttlMs: ttl, scope, toolCalls: tool_calls };
  if (semantic === undefined) return exact;
  const { error: errorMax, deadline: deadlineMs, ...rule } = semantic;
  return { ...exact, semantic: { ...rule, errorMax, deadlineMs } };
}

function onlyOf({ only }: ModelConfig): Pick<Alias, 'only'> {
  return only === undefined ? {} : { only: { accounts: new Set(only.accounts), plans: new Set(only.plans) } };
}

/** One of its targets has the provider's cache used. */
export function cachesPrompts({ prompt_cache, targets }: ModelConfig): boolean {
  return prompt_cache === 'auto' || targets.some((target) => target.prompt_cache === 'auto');
}

function usualDimensions(model: string | undefined): number | null {
  return model === undefined ? null : (embeddingFacts(model)?.native ?? null);
}

/** A model that callers can name without any configuration. */
interface DiscoveredAlias {
  /** The name that callers use. */
  alias: string;
  /** The operator's name of the provider. */
  provider: string;
  model: DiscoveredModel;
}

/** Bound of the whole table; a qualified name is entered before a plain one, so plain names go first at the bound. */
const aliasesMax = 20_000;

/**
 * Aliases of a configuration without `models`: `provider/id` always, and plain `id` where exactly one provider has it
 * and no qualified name says the same. In the order of the providers and of their lists, qualified names first.
 */
export function aliasTable(
  byProvider: ReadonlyMap<string, readonly DiscoveredModel[]>,
): ReadonlyMap<string, DiscoveredAlias> {
  const table = new Map<string, DiscoveredAlias>();
  const owners = new Map<string, number>();
  for (const [provider, models] of byProvider) {
    for (const model of models) {
      const alias = `${provider}/${model.id}`;
      // Two providers `a` and `a/b` could say the same; the first configured keeps it.
      if (table.size < aliasesMax && !table.has(alias)) table.set(alias, { alias, provider, model });
      owners.set(model.id, (owners.get(model.id) ?? 0) + 1);
    }
  }
  for (const [provider, models] of byProvider) {
    for (const model of models) {
      if (table.size >= aliasesMax) return table;
      if (owners.get(model.id) === 1 && !table.has(model.id)) table.set(model.id, { alias: model.id, provider, model });
    }
  }
  return table;
}

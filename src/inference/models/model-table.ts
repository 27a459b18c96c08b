import { matchesGlob } from '../../books/auth/model-glob.ts';
import type { Principal } from '../../books/auth/principal.ts';
import { dataRulesOf, type PlanBook, planAllows } from '../../books/metering/plan-book.ts';
import { aliasFor, starOf, withStar } from '../../config/alias-pattern.ts';
import { lackingKey } from '../../config/cautions.ts';
import { type DataFacts, type DataRule, dataBar } from '../../config/data-rules.ts';
import type { Config } from '../../config/schema.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { nearest } from '../../kernel/nearest.ts';
import { putNewest } from '../../kernel/put-newest.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias, ModelTableParts } from './alias.ts';
import type { ConfiguredProvider } from './connections.ts';
import { type EmbeddingSource, embeddingSource } from './contract-embeddings.ts';
import { type MediaSources, mediaSources } from './contract-media.ts';
import { aliasTable, createAliasMaker } from './create-alias.ts';
import { embeddingEngineAlias, soundEngineAlias } from './engine-target.ts';
import { dataRefused, withinData, withinTargets } from './narrowed.ts';
import { promisedAliases, promisedSource } from './promised-aliases.ts';
import { targetOf } from './target-of.ts';

export interface ModelTable {
  /** The alias, byte for byte; else what there is, with the nearest spelling. */
  resolve(model: string, principal: Principal): Alias | Failure;
  /** The model that a pattern of the configuration makes of this name; null: none does. */
  matchedBy(model: string): Alias | null;
  /** Whether this key may use what is called so, be there a model of the name or not. */
  allows(id: string, principal: Principal): boolean;
  /** Why this caller's data rules keep its requests from a service; null: they do not. `what` names it in words. */
  barred(principal: Principal, facts: DataFacts, what: string): Failure | null;
  /** The first model that chats and that this key may use, a name without a provider before others; null: none. */
  firstToChat(principal: Principal): Alias | null;
  /** The model that answers a conversation for an unknown one; null: none, or this key may use no chat model. */
  standIn(principal: Principal): Alias | null;
  /**
   * The same for a second name in a request for `first`. Clients of a service name its own models there: where no alias
   * is called so and a pattern made `first`, the pattern makes this one too.
   */
  resolveBeside(first: Alias, model: string, principal: Principal): Alias | Failure;
  /** All models that this key may use, in config order; then those that exist without configuration. */
  list(principal: Principal): readonly Alias[];
  /** All of them, in the same order, for any caller. */
  all(): readonly Alias[];
  /** Models of configuration and providers, without those that always exist. */
  readonly named: readonly Alias[];
  /** Providers whose models would be aliases too, had their lists been heard (`KnownModelStore.unheard`). */
  readonly unheard: readonly string[];
  /** The source of the contract's embedding models that the configuration does not name. */
  readonly embeddingSource: EmbeddingSource;
  /** The sources of its models of speech and transcription, and for images, likewise. */
  readonly mediaSources: MediaSources;
  readonly labels: MetricLabels;
  /** Every target, for health to forget the others. */
  targets(): readonly Target[];
  /**
   * Targets of configuration and providers: they decide whether this process can serve. Models that always exist say
   * nothing of it.
   */
  namedTargets(): readonly Target[];
  /** The target that this model of the provider is, or would be; null: there is no such provider. */
  targetAt(provider: string, model: string): Target | null;
}

/** Most matches of patterns that are cached: callers choose the names. */
const matchedAliasesMax = 1_000;

/** An unheard provider is asked again within this time at first. */
const unheardRetryMs = 5_000;

export function createModelTable(parts: ModelTableParts): ModelTable {
  const maker = createAliasMaker(parts);
  const { aliasOf, aliasOfKnown, simulatedFor } = maker;
  const { allowed, opened } = permissionsOf(parts);
  const { aliases, ofPatterns } = namedAliases(parts, maker);
  const matched = new Map<string, Alias | null>();

  const configured = Object.keys(parts.models);
  const givesAll = givingAll(parts);
  const unheard = parts.unheard.filter(givesAll);
  const hasPatterns = configured.some((id) => id.includes('*'));
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

  function matchedBy(model: string): Alias | null {
    const before = matched.get(model);
    if (before !== undefined) return before;
    const hit = aliasFor(parts.models, model);
    const alias = hit === null ? null : aliasOf(model, hit.model, hit.star);
    putNewest(matched, model, alias, matchedAliasesMax);
    return alias;
  }

  /** Provider whose list may yet name it; null when its own provider's was read, or it is not for this key. */
  function mayComeFrom(model: string, principal: Principal): string | null {
    const promised = promisedSource(model, { embedding: source, media });
    if (promised?.kind === 'unheard' && allowed(model, principal)) return promised.provider;
    if (unheard.length === 0 || !allowed(model, principal)) return null;
    const named = [...parts.providers.keys()].find((name) => model.startsWith(`${name}/`));
    return named === undefined || unheard.includes(named) ? (named ?? unheard.join(', ')) : null;
  }

  const list = (principal: Principal) =>
    [...aliases.values()].flatMap((alias) => {
      const exact = opened(alias, principal);
      return exact === null || isFailure(exact) ? [] : [exact];
    });

  function resolve(model: string, principal: Principal): Alias | Failure {
    const found = aliases.get(model) ?? (hasPatterns ? matchedBy(model) : null);
    const exact = found === null ? null : opened(found, principal);
    if (exact !== null) return exact;
    const alias = found === null || isOfOthers(found, principal) ? null : found;
    const unheardOf = alias === null ? mayComeFrom(model, principal) : null;
    if (unheardOf !== null) {
      const shown = model.slice(0, 256);
      const message = `Culvert does not know yet whether the model '${shown}' exists, because it could not read the list of models of ${unheardOf} so far. It asks again.${whyUnheard(parts.providers)}`;
      return { kind: 'no-target', model: shown, retryAfterMs: unheardRetryMs, message };
    }
    const allowedModels = list(principal).map(({ id }) => id);
    const why =
      alias === null && !hasPatterns ? whyUnknown(model, parts, firstToChat([...aliases.values()]) === null) : null;
    return {
      kind: alias === null ? 'model-unknown' : 'model-not-in-plan',
      model: model.slice(0, 256),
      allowedModels,
      nearest: nearest(model, allowedModels),
      ...(why !== null && { why }),
    };
  }

  function besideOf(first: Alias, model: string): string | null {
    const made = hasPatterns && !Object.hasOwn(parts.models, first.id) ? aliasFor(parts.models, first.id) : null;
    return made === null ? null : withStar(made.alias, model);
  }

  const apart = [...aliases.values()].filter(({ id }) => !ofPatterns.has(id));
  return {
    resolve,
    matchedBy,
    allows: allowed,
    barred(principal, facts, what) {
      const bar = dataBar(dataRulesOf(parts.plans().plan(principal.plan), principal), facts);
      return bar === null ? null : dataRefused(what, [bar]);
    },
    resolveBeside(first, model, principal) {
      const found = resolve(model, principal);
      if (!isFailure(found) || found.kind !== 'model-unknown') return found;
      const beside = besideOf(first, model);
      return beside === null ? found : resolve(beside, principal);
    },
    firstToChat: (principal) => firstToChat(list(principal)),
    standIn: (principal) => (parts.unknownModels === 'refuse' ? null : firstToChat(list(principal))),
    list,
    all: () => [...aliases.values()],
    named,
    unheard,
    embeddingSource: source,
    mediaSources: media,
    labels: createMetricLabels(parts.models, apart),
    targets: () => targetsBehind(aliases.values()),
    namedTargets: () => targetsBehind(named),
    targetAt: (provider, model) => targetAt(parts, named, { provider, model }),
  };
}

/** Whether every model that the provider lists can be called. */
function givingAll({ models, providers }: Pick<ModelTableParts, 'models' | 'providers'>) {
  const isDefault = Object.keys(models).length === 0;
  return (provider: string) => providers.get(provider)?.config.all_models ?? isDefault;
}

/** Which keys may use which models. */
function permissionsOf({ plans }: Pick<ModelTableParts, 'plans'>) {
  /** Found by the plans that were in force then. */
  const found = new WeakMap<Principal, { book: PlanBook; aliases: WeakMap<Alias, Alias | Failure | null> }>();

  function allowed(alias: string, principal: Principal): boolean {
    const { allowedModels } = principal;
    return (
      (allowedModels === null || allowedModels.some((glob) => matchesGlob(glob, alias))) &&
      planAllows(plans().plan(principal.plan), alias)
    );
  }

  /** The alias as this key may use it; null: not at all. Worked out once for each key and alias. */
  function opened(alias: Alias, principal: Principal): Alias | Failure | null {
    const book = plans();
    let ofKey = found.get(principal);
    if (ofKey?.book !== book) {
      ofKey = { book, aliases: new WeakMap() };
      found.set(principal, ofKey);
    }
    let forKey = ofKey.aliases.get(alias);
    if (forKey === undefined) {
      const may = principal.moved?.model === alias.id || (isFor(alias, principal) && allowed(alias.id, principal));
      forKey = may ? forCaller(alias, principal, dataRulesOf(book.plan(principal.plan), principal)) : null;
      ofKey.aliases.set(alias, forKey);
    }
    return forKey;
  }

  return { allowed, opened };
}

/** With the targets that may answer this caller. */
function forCaller(alias: Alias, { moved }: Principal, rules: readonly DataRule[]): Alias | Failure {
  const within = rules.length === 0 ? alias : withinData(alias, rules);
  if (isFailure(within) || moved === undefined || moved.targets === null) return within;
  return withinTargets(within, moved.targets, moved.rule);
}

/** Whether it is for other accounts alone: a caller who guesses its name is answered as for a name that nobody has. */
function isOfOthers({ only }: Alias, { account }: Principal): boolean {
  return only !== undefined && only.plans.size === 0 && !only.accounts.has(account);
}

function isFor({ only }: Alias, { account, plan }: Principal): boolean {
  return only === undefined || only.accounts.has(account) || only.plans.has(plan);
}

/** Models of the configuration, then those that providers list for all. `ofPatterns`: those that match a pattern. */
function namedAliases(
  { models, providers, known }: ModelTableParts,
  { aliasOf, aliasOfKnown, knownMatches }: ReturnType<typeof createAliasMaker>,
): { aliases: Map<string, Alias>; ofPatterns: Set<string> } {
  const aliases = new Map<string, Alias>();
  const ofPatterns = new Set<string>();
  for (const [id, model] of Object.entries(models)) {
    if (id.includes('*')) {
      for (const match of knownMatches(id, model))
        if (!aliases.has(match)) {
          aliases.set(match, aliasOf(match, model, starOf(id, match)));
          ofPatterns.add(match);
        }
    } else {
      aliases.set(id, aliasOf(id, model, null));
      ofPatterns.delete(id);
    }
  }
  const givesAll = givingAll({ models, providers });
  const giving = new Map([...known].filter(([provider]) => givesAll(provider)));
  for (const { alias, provider, model } of aliasTable(giving).values()) {
    // A pattern is the operator's word, a list is not.
    if (aliases.has(alias) || aliasFor(models, alias) !== null) continue;
    // The simulator's ids begin with its own name.
    if (!providers.get(provider)?.simulated || alias === model.id)
      aliases.set(alias, aliasOfKnown(alias, provider, model));
  }
  return { aliases, ofPatterns };
}

/** The cause that the operator can remove; null: a name that nobody has. */
function whyUnknown(model: string, { providers, known }: ModelTableParts, noneChats: boolean): string | null {
  const silent = [...providers].flatMap(([name, { simulated }]) =>
    !simulated && known.get(name)?.length === 0 ? [name] : [],
  );
  const its = silent.find((name) => model.startsWith(`${name}/`)) ?? (noneChats ? silent[0] : undefined);
  if (its === undefined) return noneChats ? whyNoneChats : null;
  return `The provider '${its}' lists no models. The operator can give callers all that it has: models: { "${its}/*": { targets: ["${its}/*"] } }.`;
}

const whyNoneChats =
  'No provider that chats is configured here, and the simulator is off (by default, where the address is not loopback). The operator can set the key of a provider, such as OPENAI_API_KEY, or CULVERT_SIMULATOR=on for made-up answers.';

/** Which providers lack a key, so that no list of theirs will be read; '' where none does. */
function whyUnheard(providers: ReadonlyMap<string, ConfiguredProvider>): string {
  const lacking = [...providers].flatMap(([name, { config }]) => {
    const variable = lackingKey(config);
    return variable === null
      ? []
      : [
          `The provider '${name}' has no key. The operator can set providers.${name}.api_key, such as "\${${variable}}".`,
        ];
  });
  return lacking.length === 0 ? '' : ` ${lacking.join(' ')}`;
}

/** The first that can answer: by a plain name, where there is one, as people write it. */
function firstToChat(aliases: readonly Alias[]): Alias | null {
  const chatting = aliases.filter(({ type, candidates }) => type === 'chat' && candidates.length > 0);
  return chatting.find(({ id }) => !id.includes('/')) ?? chatting[0] ?? null;
}

export function targetsBehind(aliases: Iterable<Alias>): Target[] {
  return [...aliases].flatMap(({ candidates, variants }) => [
    ...candidates.map(({ target }) => target),
    ...targetsBehind(variants?.all.map(({ alias }) => alias) ?? []),
  ]);
}

function targetAt(
  { providers, prices }: ModelTableParts,
  aliases: readonly Alias[],
  at: { provider: string; model: string },
): Target | null {
  const configured = providers.get(at.provider);
  if (configured === undefined) return null;
  const found = targetsBehind(aliases).find(({ provider, model }) => provider === at.provider && model === at.model);
  return found ?? targetOf(configured, at, null, null, prices);
}

function modelsOf(engines: ReadonlyMap<string, { model: string }> = new Map()): string[] {
  return [...engines.values()].map(({ model }) => model);
}

/**
 * How models and targets are called in metrics: by names in the configuration, or that a provider lists where it names
 * none. Callers name what they like below a pattern; each such name would be a series for ever.
 */
export type MetricLabels = ReturnType<typeof createMetricLabels>;

/** Label of models that are in no configuration (any more). */
const unknown = 'other';
/** Labels of made-up names that are kept: working one out again costs a microsecond for each pattern. */
const labelsMax = 1_000;

/** `aliases`: all but what patterns matched. */
function createMetricLabels(models: Config['models'], aliases: Iterable<Alias>) {
  const patterns = Object.entries(models).filter(([id]) => id.includes('*'));
  const ofModels = new Map([['', '']]);
  const ofTargets = new Map<string, string>();
  for (const { id, candidates } of aliases) {
    ofModels.set(id, id);
    for (const { target } of candidates) ofTargets.set(target.id, target.id);
  }
  const madeUp = { models: new Map<string, string>(), targets: new Map<string, string>() };

  function patternOf(alias: string): string {
    return patterns.find(([pattern]) => starOf(pattern, alias) !== null)?.[0] ?? unknown;
  }

  function targetPatternOf(target: string): string {
    const slash = target.indexOf('/');
    const [provider, model] = [target.slice(0, slash), target.slice(slash + 1)];
    // A dated Claude may have `@` in the one and `-` in the other.
    for (const [, { targets }] of patterns)
      for (const made of targets)
        if (made.provider === provider && starOf(made.model.replace('@', '-'), model.replace('@', '-')) !== null)
          return `${provider}/${made.model}`;
    return unknown;
  }

  return {
    /** Patterns of the configuration. */
    patterns: patterns.map(([id]) => id),
    /** The alias itself; for a match of a pattern, the pattern; `other` for an unknown model. */
    modelOf: (alias: string): string => ofModels.get(alias) ?? cachedLabel(madeUp.models, alias, patternOf),
    /** The target itself; `provider/claude-*` for one made by a pattern; '' for none. */
    targetOf: (target: string | null): string =>
      target === null ? '' : (ofTargets.get(target) ?? cachedLabel(madeUp.targets, target, targetPatternOf)),
  };
}

function cachedLabel(labels: Map<string, string>, name: string, make: (name: string) => string): string {
  let label = labels.get(name);
  if (label === undefined) {
    if (labels.size >= labelsMax) labels.clear();
    label = make(name);
    labels.set(name, label);
  }
  return label;
}

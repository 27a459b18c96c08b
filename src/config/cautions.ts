import { availableParallelism } from 'node:os';
import { providerTypes } from '../formats/providers/catalog.ts';
import { didYouMean } from '../kernel/nearest.ts';
import { builtInProvider } from './built-in-models.ts';
import { type DataRule, dataBar, dataFactsOf } from './data-rules.ts';
import { credentialsOf } from './declared.ts';
import type { PathProblem } from './problem.ts';
import type { Config, ProviderConfig } from './schema.ts';

export interface Caution extends PathProblem {
  /** The remedy, a sentence. */
  fix: string;
}

/** Settings that are allowed but most likely not intended. */
export function cautionsOf(config: Config): Caution[] {
  return [
    ...ofPublicUrl(config),
    ...ofProcesses(config),
    ...ofBodies(config),
    ...ofVectors(config),
    ...ofCredentials(config),
    ...ofQuality(config),
    ...ofFallbacks(config),
    ...ofAllowedModels(config),
    ...ofDataRules(config),
    ...ofSoftLimits(config),
  ];
}

/** Beginnings of paths that Culvert serves itself: of `/v1/models`, nobody could say where the path of the server ends. */
const placesOfOurs = /^\/(v\d(?:beta)?|dashboard|account|docs|admin|scim)(?=\/|$)/;

function ofPublicUrl({ server: { public_url } }: Config): Caution[] {
  const url = URL.parse(public_url ?? '');
  if (url === null) return [];
  const path = ['server', 'public_url'];
  const place = placesOfOurs.exec(url.pathname)?.[0];
  if (place !== undefined) {
    const message = `${place} is a path of Culvert itself, so logins and links below it fail`;
    return [{ path, message, fix: `Write the address before ${place}.` }];
  }
  const message = 'links of Culvert go on behind it, so they fail with a query';
  return url.search === '' ? [] : [{ path, message, fix: 'Remove the query.' }];
}

function ofProcesses({ server: { processes } }: Config): Caution[] {
  if (processes === 'auto' || processes === 1) return [];
  const cores = availableParallelism();
  if (processes <= cores) return [];
  const message = `this machine has ${cores} ${cores === 1 ? 'core' : 'cores'}, so ${processes} processes cost memory and answer no more`;
  return [{ path: ['server', 'processes'], message, fix: `Set it to ${cores} at most, or to auto.` }];
}

function ofBodies({ telemetry }: Config): Caution[] {
  if (telemetry.log.bodies !== false) return [];
  const message = 'no record has bodies, because telemetry.log.bodies names no key';
  const fix = 'Name keys in telemetry.log.bodies, or remove bodies here.';
  return telemetry.sinks.flatMap(({ bodies }, at) =>
    bodies ? [{ path: ['telemetry', 'sinks', at, 'bodies'], message, fix }] : [],
  );
}

function ofFallbacks({ models }: Config): Caution[] {
  return Object.entries(models).flatMap(([alias, { attempts, targets, fallbacks }]) => {
    if (fallbacks.length === 0 || targets.length < attempts) return [];
    const message = `its targets (${targets.length}) take all attempts of a request (${attempts}), so none is left for a fallback`;
    const fix = 'Raise attempts of the model (8 at most), or name fewer targets.';
    return [{ path: ['models', alias, 'fallbacks'], message, fix }];
  });
}

function ofVectors({ storage, vectors }: Config): Caution[] {
  if (vectors.engine !== 'embedded') return [];
  if (storage.state === 'memory') return [];
  const message = 'replicas do not share embedded vectors: each would have its own collections';
  const fix = 'Several replicas need vectors.engine: qdrant. One server alone can leave it.';
  return [{ path: ['vectors', 'engine'], message, fix }];
}

/**
 * The variable with the key that a provider at its type's own address lacks, having no other way to prove who asks;
 * null: it lacks none.
 */
export function lackingKey(provider: ProviderConfig): string | null {
  const type = providerTypes.get(provider.type);
  if (type?.envKey == null || type.tokens !== undefined || type.regional !== undefined) return null;
  const hasOther =
    provider.caller_credential || provider.base_url !== undefined || Object.keys(provider.headers).length > 0;
  return hasOther || credentialsOf(provider).length > 0 || provider.aws !== undefined ? null : type.envKey;
}

function ofCredentials({ providers }: Config): Caution[] {
  return Object.entries(providers).flatMap(([name, provider]) => {
    const variable = lackingKey(provider);
    if (variable === null) return [];
    const fix = `Write api_key: "\${${variable}}" and set that variable.`;
    return [{ path: ['providers', name], message: `has no credential, which type ${provider.type} needs`, fix }];
  });
}

type Amounts = Readonly<Record<string, unknown>> | 'off' | undefined;
interface Warning {
  budget?: Amounts;
  tokens?: Amounts;
  calendar_budget?: Amounts;
}

/** Amounts that warn, where a limit refuses as early: no request would ever be warned. */
function ofSoftLimits({ plans, keys }: Config): Caution[] {
  return [
    ...Object.entries(plans).flatMap(([name, plan]) => lateWarnings(['plans', name], plan, plan.soft)),
    ...keys.flatMap(({ limits }, at) => lateWarnings(['keys', at, 'limits'], limits ?? {}, limits?.soft)),
  ];
}

function lateWarnings(path: (string | number)[], hard: Warning, soft: Warning | undefined): Caution[] {
  return (['budget', 'tokens', 'calendar_budget'] as const).flatMap((measure) => {
    const [limits, warns] = [hard[measure], soft?.[measure]];
    if (typeof limits !== 'object' || typeof warns !== 'object') return [];
    // Days of two time zones are two counts.
    if (limits.time_zone !== warns.time_zone) return [];
    return Object.entries(warns).flatMap(([window, from]) => {
      const limit = limits[window];
      if (typeof limit !== 'number' || typeof from !== 'number' || from < limit) return [];
      const message = `warns from ${from}, and ${measure}.${window} refuses from ${limit}: nobody is warned before`;
      return [{ path: [...path, 'soft', measure, window], message, fix: `Set it below ${limit}.` }];
    });
  });
}

/** Answers that fail a check go to the next target: without an order, chance says which is first. */
function ofQuality({ models }: Config): Caution[] {
  return Object.entries(models).flatMap(([alias, { quality, targets, fallbacks }]) => {
    if (quality === undefined) return [];
    const path = ['models', alias, 'quality'];
    if (targets.length === 1 && fallbacks.length === 0) {
      const message = 'an answer that fails a check has no other target to go to';
      return [{ path, message, fix: 'Add a target with a higher priority, or remove quality.' }];
    }
    if (targets.length === 1 || new Set(targets.map(({ priority }) => priority)).size > 1) return [];
    const message = 'all targets have the same priority, so no order says which answers first';
    return [
      { path, message, fix: 'Give the targets priorities: 1 for the first, 2 for the one that answers after it.' },
    ];
  });
}

/** Models that a plan or a key allows and nobody has. Where providers give all of theirs, only they know the names. */
function ofAllowedModels({ providers, models, plans, keys }: Config): Caution[] {
  const aliases = Object.keys(models);
  if (aliases.length === 0 || Object.values(providers).some(({ all_models }) => all_models === true)) return [];
  const check = (allowed: readonly string[], path: PathProblem['path']): Caution[] =>
    allowed.flatMap((glob, index) => {
      if (glob.startsWith(`${builtInProvider}/`) || aliases.some((alias) => mayMeet(glob, alias))) return [];
      const message = `no model of this file has this name${didYouMean(glob, aliases)}`;
      return [{ path: [...path, index], message, fix: 'Correct the name, or add the model under models.' }];
    });
  return [
    ...Object.entries(plans).flatMap(([name, plan]) =>
      Array.isArray(plan.models) ? check(plan.models, ['plans', name, 'models']) : [],
    ),
    ...keys.flatMap((key, index) => (key.models === undefined ? [] : check(key.models, ['keys', index, 'models']))),
  ];
}

/** Models whose targets a data rule all keeps away. */
function ofDataRules({ providers, models, plans, accounts, keys, default_plan }: Config): Caution[] {
  const ruleOf = (of: string, data: NonNullable<Config['accounts'][string]['data']> | undefined): DataRule[] =>
    data === undefined ? [] : [{ ...data, of }];
  const ofPlan = (plan: string) => ruleOf(`plan ${plan}`, plans[plan]?.data);
  const check = (rules: readonly DataRule[], path: PathProblem['path']): Caution[] => {
    const closed = Object.entries(models).filter(([, { targets }]) =>
      targets.every(({ provider, ...target }) => {
        const config = providers[provider];
        return config !== undefined && dataBar(rules, dataFactsOf(config, target)) !== null;
      }),
    );
    if (closed.length === 0) return [];
    const named = closed.slice(0, 10).map(([alias]) => alias);
    const more = closed.length > named.length ? ` and ${closed.length - named.length} more` : '';
    const message = `no target of these models may get its requests: ${named.join(', ')}${more}`;
    return [
      { path, message, fix: 'Declare `data` at their providers or targets, or add targets that the rule allows.' },
    ];
  };
  return [
    ...Object.entries(plans).flatMap(([name, { data }]) =>
      data === undefined ? [] : check(ofPlan(name), ['plans', name, 'data']),
    ),
    ...Object.entries(accounts).flatMap(([id, { data, plan = default_plan }]) =>
      data === undefined ? [] : check([...ruleOf(`account ${id}`, data), ...ofPlan(plan)], ['accounts', id, 'data']),
    ),
    ...keys.flatMap(({ account, name, limits }, index) =>
      limits?.data === undefined
        ? []
        : check(ruleOf(`key ${account}/${name}`, limits.data), ['keys', index, 'limits', 'data']),
    ),
  ];
}

/** Whether a name exists that both patterns match: what comes before their first and after their last * agrees. */
export function mayMeet(one: string, other: string): boolean {
  if (!one.includes('*') && !other.includes('*')) return one === other;
  const [a, b] = [endsOf(one), endsOf(other)];
  const startsAgree = a.start.startsWith(b.start) || b.start.startsWith(a.start);
  return startsAgree && (a.end.endsWith(b.end) || b.end.endsWith(a.end));
}

/** Both ends of a pattern; without `*` each is all of it. */
function endsOf(pattern: string): { start: string; end: string } {
  return { start: pattern.replace(/\*.*$/s, ''), end: pattern.replace(/^.*\*/s, '') };
}

import type { DataRule } from '../../config/data-rules.ts';
import { filePlans, planSchema } from '../../config/schema/schema-plans.ts';
import type { Config } from '../../config/schema.ts';
import { systemClock } from '../../kernel/clock.ts';
import { endless } from '../../kernel/limits.ts';
import type { PlanRow } from '../auth/account-store.ts';
import { matchesGlob } from '../auth/model-glob.ts';
import { type Principal, serverPlan } from '../auth/principal.ts';
import { accountScope, creditScope, freeScope, keyScope, nanoUsd, runScope, scopesOf } from './counter-scope.ts';
import type { Entry, Limit, LimitState, Measure, Scope } from './counters.ts';
import { type LimitHeaders, limitHeaders } from './limits/limit-headers.ts';
import { partLimits, type RequestParts } from './part-budgets.ts';
import type { CalendarBudget, KeyLimits, Plan, SoftLimits } from './plan.ts';
import { extraOf, limitsOfKey, planOf, raisedBy } from './plan-rules.ts';
import { type SpanName, type WindowName, windowNames } from './window.ts';

/** The plans in force: those of the configuration and those made through the admin API, the file's first. */
export interface PlanBook {
  /** A plan by name; the default plan for an unknown name. */
  plan(name: string): Plan;
  has(name: string): boolean;
  all(): readonly { plan: Plan; from: 'configuration' | 'admin api' }[];
  /** True if a plan names a guard. */
  namesGuards: boolean;
  /**
   * Everything that limits a request of this caller on a model of this tier; with `parts`, also the budgets that its
   * account gives to its end user, tag and model. Kept per caller: asked at every request.
   */
  limits(principal: Principal, tier: string | null, parts?: RequestParts): LimitSet;
}

/** Maximum number of remembered users, tags and models of one caller at one tier. */
const partsMax = 1_000;

/** The limits of one caller at one tier, in the order in which a 429 prefers them: tier, then windows. */
export interface LimitSet {
  /** Limits of measure `calls`, before the body. */
  calls: readonly Limit[];
  /** The same for free calls, which are counted apart. */
  freeCalls: readonly Limit[];
  /** Running requests of the account and of the key: counted without a limit, too, for one that is set meanwhile. */
  places: Entry['places'];
  /** After the model: a tier's rpm, units, tokens, USD. */
  windows: readonly Limit[];
  /** Limits of `windows` that only a settlement moves. */
  postPaid: readonly Limit[];
  /** Scopes in which a request counts whatever its limits are (`scopesOf`). */
  scopes: readonly Scope[];
  /** Scopes of the limits other than account, key and tier, in lines; null: none. */
  furtherScopes: string | null;
  /** The counters' answer about `windows` at a hold; the next hold writes over it. */
  states: LimitState[];
  /** True if a receiver is notified when they fill up. */
  notify: boolean;
  /** Null: nothing limits the caller, so there is nothing to write. */
  headers: LimitHeaders | null;
  /** Wall-clock ms at which the account's extra budget ends; null: it has none. */
  untilMs: number | null;
}

export interface PlanSources {
  config: Pick<Config, 'plans' | 'tiers' | 'default_plan'>;
  /** Plans made through the admin API; those of the file take precedence. */
  stored: readonly PlanRow[];
  /** A stored plan that cannot be read any more: its accounts have the default plan meanwhile. */
  onUnreadable?(name: string): void;
  /** The wall clock, which ends extra budgets. Default: the system's. */
  nowMs?: () => number;
}

/** The plans in force, until the next change of the configuration or of the stored plans makes another book. */
export function createPlanBook({ config, stored, onUnreadable, nowMs = systemClock.wallMs }: PlanSources): PlanBook {
  const plans = new Map<string, { plan: Plan; from: 'configuration' | 'admin api' }>();
  for (const [name, written] of Object.entries(filePlans(config.plans, stored.length))) {
    plans.set(name, { plan: planOf(name, written, config.tiers), from: 'configuration' });
  }
  for (const { name, definition } of stored) {
    if (plans.has(name)) continue;
    const read = planSchema.safeParse(definition);
    if (read.success) plans.set(name, { plan: planOf(name, read.data, config.tiers), from: 'admin api' });
    else onUnreadable?.(name);
  }
  // The check has made sure of default_plan, and the schema of `default`.
  const fallback = (plans.get(config.default_plan) ?? plans.get('default'))!.plan;
  let unlimited: Plan | null = null;
  const ofServer = () => {
    unlimited ??= planOf(serverPlan, planSchema.parse({ windows: 'off', rpm: 'off', tier_limits: 'off' }), {});
    return unlimited;
  };
  const plan = (name: string) => plans.get(name)?.plan ?? (name === serverPlan ? ofServer() : fallback);

  /** Sets by caller and tier. A key ring makes new principals at every change, so old entries vanish. */
  const sets = new WeakMap<Principal, Map<string | null, LimitSet>>();

  /** Sets of each of those, by what its requests name. */
  const within = new WeakMap<LimitSet, Map<string, LimitSet>>();

  return {
    plan,
    has: (name) => plans.has(name),
    all: () => [...plans.values()],
    namesGuards: [...plans.values()].some(({ plan: { guards } }) => guards.length > 0),
    limits(principal, tier, parts) {
      let ofPrincipal = sets.get(principal);
      if (ofPrincipal === undefined) {
        ofPrincipal = new Map();
        sets.set(principal, ofPrincipal);
      }
      let set = ofPrincipal.get(tier);
      if (set === undefined || (set.untilMs !== null && set.untilMs <= nowMs())) {
        const { extraBudget, limits } = principal;
        const atMs = nowMs();
        const keyLimits = limits === null ? null : limitsOfKey(limits, atMs);
        const extras = [extraBudget, limits && extraOf(limits)].flatMap((extra) => extra?.untilMs ?? []);
        const ahead = extras.filter((untilMs) => untilMs > atMs);
        const ends = ahead.length === 0 ? null : Math.min(...ahead);
        set = limitSetOf(raisedBy(plan(principal.plan), extraBudget, atMs), keyLimits, principal, tier, ends);
        if (principal.creditNano !== undefined)
          set = withLimits(set, [creditLimit(principal.account, principal.creditNano)]);
        if (principal.run !== undefined) set = withRun(set, principal.account, principal.run);
        ofPrincipal.set(tier, set);
      }
      return parts === undefined ? set : limitsWithin(set, principal, parts);
    },
  };

  function limitsWithin(whole: LimitSet, { account, budgets = [] }: Principal, parts: RequestParts): LimitSet {
    const name = JSON.stringify([parts.user, parts.tag, parts.models]);
    let known = within.get(whole);
    if (known === undefined || known.size >= partsMax) {
      known = new Map();
      within.set(whole, known);
    }
    let set = known.get(name);
    if (set === undefined) {
      set = withLimits(whole, partLimits(account, budgets, parts));
      known.set(name, set);
    }
    return set;
  }
}

function withRun(set: LimitSet, account: string, { id, usd, rpm }: NonNullable<Principal['run']>): LimitSet {
  const scope = runScope(account, id);
  const spent = runBudget(account, { id, usd });
  const runLimits = callLimits('run:minute', rpm, scope);
  const calls = [...set.calls, ...runLimits];
  const freeCalls = [...set.freeCalls, ...runLimits.map((each) => ({ ...each, id: 'free', scope: freeScope(scope) }))];
  return withLimits({ ...set, calls, freeCalls, headers: limitHeaders(calls, set.windows) }, spent);
}

/** The USD of a key of a run, which ends long before the window does; none: it has no such limit. */
export function runBudget(account: string, { id, usd }: Pick<NonNullable<Principal['run']>, 'id' | 'usd'>): Limit[] {
  return usd === null ? [] : [limit('run:budget', 'usd', 'month', nanoUsd(usd), runScope(account, id))];
}

/** A set with further limits, each counted in a separate scope. */
function withLimits(set: LimitSet, limits: readonly Limit[]): LimitSet {
  if (limits.length === 0) return set;
  const windows = [...set.windows, ...limits];
  const scopes = new Set(limits.map(({ scope }) => scope));
  return {
    ...set,
    windows,
    postPaid: windows.filter(({ rule }) => rule === 'post-paid'),
    scopes: [...set.scopes, ...scopes],
    furtherScopes: [...(set.furtherScopes?.split('\n') ?? []), ...scopes].join('\n'),
    states: [],
    headers: limitHeaders(set.calls, windows),
  };
}

/** True if a plan may use this alias; its `models` are globs. */
export function planAllows(plan: Plan, alias: string): boolean {
  return plan.models === null || plan.models.some((glob) => matchesGlob(glob, alias));
}

/**
 * True if this caller may use an MCP server, or its tool or prompt `name` (`server__tool`): the plan and the key must
 * both allow it. Their globs name servers, with all of their tools, or tools.
 */
export function mayUseMcp(plan: Plan, { limits }: Principal, server: string, name = server): boolean {
  return [plan.mcp, limits?.mcp ?? null].every(
    (globs) => globs === null || globs.some((glob) => matchesGlob(glob, server) || matchesGlob(glob, name)),
  );
}

/** True if this caller may call an agent: the plan and the key must both allow it. */
export function mayCallAgent(plan: Plan, { limits }: Principal, agent: string): boolean {
  return [plan.agents, limits?.agents ?? null].every(
    (globs) => globs === null || globs.some((glob) => matchesGlob(glob, agent)),
  );
}

/** The data rules of a caller: of its plan, its account and its key, and of the caller for whom this server asks. */
export function dataRulesOf({ name, data: ofPlan }: Plan, principal: Principal): readonly DataRule[] {
  const { account, keyName, data: ofAccount, limits, underRules } = principal;
  const ofKey = limits?.data;
  if (ofPlan === undefined && ofAccount === undefined && ofKey === undefined) return underRules ?? noRules;
  return [
    ...(ofKey === undefined ? [] : [{ ...ofKey, of: `key ${account}/${keyName}` }]),
    ...(ofAccount === undefined ? [] : [{ ...ofAccount, of: `account ${account}` }]),
    ...(ofPlan === undefined ? [] : [{ ...ofPlan, of: `plan ${name}` }]),
    ...(underRules ?? noRules),
  ];
}

const noRules: readonly DataRule[] = [];

/** Limits that a request of this caller on a model of this tier must pass: those of its plan, then those of its key. */
function limitSetOf(
  plan: Plan,
  keyLimits: KeyLimits | null,
  principal: Principal,
  tier: string | null,
  untilMs: number | null,
): LimitSet {
  const { account, tenant } = principal;
  const scope = (ofTier: string | null): Scope =>
    plan.scope === 'key' ? keyScope(tenant, ofTier) : accountScope(account, ofTier);
  const tierLimits = tier === null ? undefined : plan.tiers.get(tier);
  const calls: Limit[] = callLimits('minute', plan.rpm, scope(null));
  const places = [
    ...[accountScope(account, null), keyScope(tenant, null)].map((each) => placeLimit(null, each)),
    placeLimit(plan.concurrency, scope(null)),
  ];
  const windows: Limit[] = [];
  if (tierLimits !== undefined) {
    windows.push(...callLimits(`tier:${tier}:rpm`, tierLimits.rpm, scope(tier)));
    windows.push(...windowLimits(`tier:${tier}:`, 'units', tierLimits.units, scope(tier)));
  }
  windows.push(...afterwards(plan, scope(null)));
  if (keyLimits !== null) {
    const ofKey = keyScope(tenant, null);
    calls.push(...callLimits('minute', keyLimits.rpm, ofKey));
    places.push(placeLimit(keyLimits.concurrency, ofKey));
    windows.push(...afterwards(keyLimits, ofKey));
  }
  const tightestCalls = tightest(calls);
  const ofPlan = withSoft(tightest(windows), plan.soft, scope(null));
  const allWindows = withSoft(ofPlan, keyLimits?.soft, keyScope(tenant, null));
  return {
    calls: tightestCalls,
    freeCalls: tightestCalls.map((each) => ({ ...each, id: 'free', scope: freeScope(each.scope) })),
    places: tightest(places),
    windows: allWindows,
    postPaid: allWindows.filter(({ rule }) => rule === 'post-paid'),
    scopes: scopesOf({ account, tenant, tier }),
    furtherScopes: null,
    states: [],
    notify: plan.notify !== null,
    headers: limitHeaders(tightestCalls, allWindows),
    untilMs,
  };
}

/** Units, tokens and USD of a plan or key, in the order in which a 429 prefers them. */
function afterwards(limits: KeyLimits, scope: Scope): Limit[] {
  return [
    ...windowLimits('', 'units', limits.units, scope),
    ...(limits.tpm === null ? [] : [limit('tokens:minute', 'tokens', 'minute', limits.tpm, scope)]),
    ...spentLimits(limits, scope),
  ];
}

function spentLimits({ tokens, usdNano, calendar }: SoftLimits, scope: Scope): Limit[] {
  return [
    ...windowLimits('tokens:', 'tokens', tokens, scope),
    ...windowLimits('budget:', 'usd', usdNano, scope),
    ...calendar.map((budget) => calendarLimit(budget, scope)),
  ];
}

/** The limits with amounts that warn, each at the limit that counts the same, or at one that allows everything. */
export function withSoft(limits: readonly Limit[], soft: SoftLimits | undefined, scope: Scope): readonly Limit[] {
  if (soft === undefined) return limits;
  const all = [...limits];
  for (const warns of spentLimits(soft, scope)) {
    const at = all.findIndex((each) => each.id === warns.id && each.scope === warns.scope);
    const counted = all[at];
    if (counted === undefined) all.push({ ...warns, allowed: endless, soft: warns.allowed });
    else all[at] = { ...counted, soft: Math.min(counted.soft ?? endless, warns.allowed) };
  }
  return all;
}

function callLimits(id: string, rpm: number | null, scope: Scope): Limit[] {
  return rpm === null ? [] : [limit(id, 'calls', 'minute', rpm * 1_000, scope)];
}

function placeLimit(allowed: number | null, scope: Scope): Entry['places'][number] {
  return { id: 'concurrency', scope, allowed: allowed ?? endless };
}

function windowLimits(
  prefix: string,
  measure: Measure,
  amounts: Readonly<Record<WindowName, number | null>>,
  scope: Scope,
): Limit[] {
  return windowNames.flatMap((window) => {
    const allowed = amounts[window];
    return allowed === null ? [] : [limit(`${prefix}${window}`, measure, window, allowed, scope)];
  });
}

export function calendarLimit({ period, usdNano }: CalendarBudget, scope: Scope): Limit {
  return { ...limit(`budget:${period.id}`, 'usd', 'month', usdNano, scope), period };
}

/** All that was ever spent on the credit of an account, against all that was ever added to it. */
export function creditLimit(account: string, creditNano: number): Limit {
  return { ...limit('credit', 'usd', 'month', creditNano, creditScope(account)), isForEver: true };
}

/** Tokens and USD are known afterwards only; requests and units are exact. */
export function limit(id: string, measure: Measure, span: SpanName, allowed: number, scope: Scope): Limit {
  const rule = measure === 'tokens' || measure === 'usd' ? 'post-paid' : 'exact';
  return { id, scope, measure, span, allowed, rule };
}

/**
 * Limits without duplicates. A plan that counts by key and the limits of a key share one scope: of two that count the
 * same, the lower one stays.
 */
function tightest<T extends { id: string; scope: Scope; allowed: number }>(limits: readonly T[]): T[] {
  const lowest: T[] = [];
  for (const each of limits) {
    const same = lowest.findIndex(({ id, scope }) => id === each.id && scope === each.scope);
    if (same === -1) lowest.push(each);
    else if (each.allowed < lowest[same]!.allowed) lowest[same] = each;
  }
  return lowest;
}

/** The book of plans that counts now. */
export class PlansInForce {
  private book: PlanBook;

  constructor(first: PlanBook) {
    this.book = first;
  }

  readonly current = (): PlanBook => this.book;

  replace(next: PlanBook): void {
    this.book = next;
  }
}

import { endless } from '../../../kernel/limits.ts';
import type { Principal } from '../../auth/principal.ts';
import { accountScope, keyScope } from '../counter-scope.ts';
import type { Counters, Limit, LimitState, Scope } from '../counters.ts';
import type { KeyLimits, Plan } from '../plan.ts';
import { calendarLimit, creditLimit, limit, runBudget, withSoft } from '../plan-book.ts';
import { type PeriodName, type WindowName, windowNames } from '../window.ts';
import { amountOf } from './quota-message.ts';

/** State of one limit, as callers read it: requests, tokens or USD as decimals. Null = unlimited. */
export interface LimitReading {
  used: number;
  allowed: number | null;
  remaining: number | null;
  /** ISO time at which the oldest counted part leaves; null when nothing is counted. */
  resets_at: string | null;
  /** From so much on requests are warned, and pass; only where there is such an amount. */
  soft?: number;
}

export type WindowReadings = Readonly<Record<WindowName, LimitReading>>;

/** Members that the limits of a plan and of a key share. */
export interface LimitReadings {
  windows: WindowReadings;
  rpm: LimitReading;
  concurrency: { used: number; allowed: number | null };
  tokens: WindowReadings & { minute: LimitReading };
  budget: WindowReadings;
  /** Only where there are such budgets, or amounts that warn. */
  calendar_budget?: CalendarReadings;
  /** Amounts that warn in another time zone than `calendar_budget`. */
  soft_calendar_budget?: CalendarReadings;
}

/** By period of the calendar, in a time zone. */
export type CalendarReadings = { time_zone: string } & Partial<Record<PeriodName, LimitReading>>;

export interface PlanReadings extends LimitReadings {
  tiers: Readonly<Record<string, { rpm: LimitReading; windows: WindowReadings }>>;
  /** Limits of the key, in addition to its plan's; null: none. */
  key: LimitReadings | null;
}

/** Owner of the limits that are read. `tenant` null: the whole account, also when its plan counts by key. */
export interface ReadFor {
  account: string;
  tenant: string | null;
  plan: Plan;
  keyLimits: KeyLimits | null;
}

/** Reads everything at once, counting nothing. Rejects with FailureError `quota-unavailable`. */
export async function readLimits(
  counters: Pick<Counters, 'read' | 'running'>,
  { account, tenant, plan, keyLimits }: ReadFor,
): Promise<PlanReadings> {
  const byKey = plan.scope === 'key' && tenant !== null;
  const scope = (tier: string | null) => (byKey ? keyScope(tenant, tier) : accountScope(account, tier));
  const ofKey = keyLimits === null || tenant === null ? null : { limits: keyLimits, scope: keyScope(tenant, null) };

  const ofPlan = readableLimits(plan, scope(null));
  const tiers = [...plan.tiers].map(([tier, limits]) => ({
    tier,
    limits: readableTierLimits(tier, limits, scope(tier)),
  }));
  const ofItsKey = ofKey === null ? [] : readableLimits(ofKey.limits, ofKey.scope);
  const all = [...ofPlan, ...tiers.flatMap(({ limits }) => limits), ...ofItsKey];

  const places = ofKey === null ? [scope(null)] : [scope(null), ofKey.scope];
  const [states, running] = await Promise.all([counters.read(account, all), counters.running(account, places)]);
  const stateOf = new Map(all.map((limit, at) => [limit, states[at]]));
  const read: Read = (limit) => (limit === undefined ? unlimited : readingOf(limit, stateOf.get(limit) ?? unused));
  return {
    ...readingsOf(ofPlan, read, { used: running[0] ?? 0, allowed: plan.concurrency }),
    tiers: Object.fromEntries(
      tiers.map(({ tier, limits: [rpm, ...units] }) => [tier, { rpm: read(rpm), windows: windowsOf(units, read) }]),
    ),
    key:
      ofKey === null ? null : readingsOf(ofItsKey, read, { used: running[1] ?? 0, allowed: ofKey.limits.concurrency }),
  };
}

/** Rest of an account's credit, in USD. Counts nothing. Rejects with FailureError `quota-unavailable`. */
export async function readCredit(counters: Pick<Counters, 'read'>, account: string, creditNano: number) {
  const [state] = await counters.read(account, [creditLimit(account, creditNano)]);
  const used = state?.used ?? 0;
  return {
    granted: amountOf('usd', creditNano),
    used: amountOf('usd', used),
    /** Below zero by what ran when it came to its end. */
    remaining: amountOf('usd', creditNano - used),
  };
}

/** USD of a key of a run; null: it has no such limit. Counts nothing. Rejects with FailureError `quota-unavailable`. */
export async function readRun(
  counters: Pick<Counters, 'read'>,
  account: string,
  run: NonNullable<Principal['run']>,
): Promise<Pick<LimitReading, 'used' | 'allowed' | 'remaining'> | null> {
  const budget = runBudget(account, run);
  const [state] = await counters.read(account, budget);
  const [reading] = budget.map((each) => readingOf(each, state ?? unused));
  return reading === undefined ? null : { used: reading.used, allowed: reading.allowed, remaining: reading.remaining };
}

/**
 * Every limit that a plan or a key may have, in one order, then periods of the calendar that only warn. `allowed` is not
 * finite, or `endless`, where there is none.
 */
export function readableLimits(limits: KeyLimits, scope: Scope): readonly Limit[] {
  const all = [
    limit('minute', 'calls', 'minute', wholeCalls(limits.rpm), scope),
    ...windowNames.map((window) => limit(window, 'units', window, orEndless(limits.units[window]), scope)),
    limit('tokens:minute', 'tokens', 'minute', orEndless(limits.tpm), scope),
    ...windowNames.map((window) =>
      limit(`tokens:${window}`, 'tokens', window, orEndless(limits.tokens[window]), scope),
    ),
    ...windowNames.map((window) => limit(`budget:${window}`, 'usd', window, orEndless(limits.usdNano[window]), scope)),
    ...limits.calendar.map((budget) => calendarLimit(budget, scope)),
  ];
  return withSoft(all, limits.soft, scope);
}

/** True if the limit refuses nothing: it counts, or warns. */
export function isUnlimited({ allowed }: Limit): boolean {
  return allowed >= endless;
}

/** The same of one tier. */
export function readableTierLimits(
  tier: string,
  { rpm, units }: Pick<KeyLimits, 'rpm' | 'units'>,
  scope: Scope,
): Limit[] {
  return [
    limit(`tier:${tier}:rpm`, 'calls', 'minute', wholeCalls(rpm), scope),
    ...windowNames.map((window) => limit(`tier:${tier}:${window}`, 'units', window, orEndless(units[window]), scope)),
  ];
}

function wholeCalls(rpm: number | null): number {
  return rpm === null ? Number.POSITIVE_INFINITY : rpm * 1_000;
}

function orEndless(allowed: number | null): number {
  return allowed ?? Number.POSITIVE_INFINITY;
}

type Read = (limit: Limit | undefined) => LimitReading;

const unlimited: LimitReading = { used: 0, allowed: null, remaining: null, resets_at: null };
const unused: LimitState = { used: 0, leavesAtMs: null };

/** `limits` are those of `readableLimits`. */
function readingsOf(limits: readonly Limit[], read: Read, concurrency: LimitReadings['concurrency']): LimitReadings {
  const [minute, ...others] = limits;
  const [units, tokenMinute, tokens, usd] = [others.slice(0, 3), others[3], others.slice(4, 7), others.slice(7, 10)];
  const [calendar, soft] = calendarsOf(others.slice(10), read);
  return {
    windows: windowsOf(units, read),
    rpm: read(minute),
    concurrency,
    tokens: { minute: read(tokenMinute), ...windowsOf(tokens, read) },
    budget: windowsOf(usd, read),
    ...(calendar !== undefined && { calendar_budget: calendar }),
    ...(soft !== undefined && { soft_calendar_budget: soft }),
  };
}

/** One for each time zone: budgets have one, and the amounts that warn may have another. */
function calendarsOf(limits: readonly Limit[], read: Read): CalendarReadings[] {
  const byZone = Map.groupBy(limits, ({ period }) => period?.zone ?? 'UTC');
  return [...byZone].map(([time_zone, ofZone]) => ({
    time_zone,
    ...Object.fromEntries(ofZone.map((limit) => [limit.period?.name, read(limit)])),
  }));
}

function windowsOf([hours, week, month]: readonly Limit[], read: Read): WindowReadings {
  return { '5h': read(hours), week: read(week), month: read(month) };
}

function readingOf(limit: Limit, { used, leavesAtMs }: LimitState): LimitReading {
  const { measure, allowed, soft } = limit;
  const endlessly = isUnlimited(limit);
  return {
    used: amountOf(measure, used),
    allowed: endlessly ? null : amountOf(measure, allowed),
    remaining: endlessly ? null : amountOf(measure, Math.max(0, allowed - used)),
    resets_at: leavesAtMs === null ? null : new Date(leavesAtMs).toISOString(),
    ...(soft !== undefined && { soft: amountOf(measure, soft) }),
  };
}

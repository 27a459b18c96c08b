import type { Counters, Limit, LimitState } from './counters.ts';
import type { CalendarBudget, KeyLimits, Plan } from './plan.ts';
import { calendarLimit, creditLimit, limit } from './plan-book.ts';
import { amountOf } from './quota-message.ts';
import { accountScope, keyScope } from './scope.ts';
import { type PeriodName, type WindowName, windowNames } from './window.ts';

/** State of one limit, as callers read it: requests, tokens or USD as decimals. Null = unlimited. */
export interface LimitReading {
  used: number;
  allowed: number | null;
  remaining: number | null;
  /** ISO time at which the oldest counted part leaves; null when nothing is counted. */
  resets_at: string | null;
}

export type WindowReadings = Readonly<Record<WindowName, LimitReading>>;

/** Members that the limits of a plan and of a key share. */
export interface LimitReadings {
  windows: WindowReadings;
  rpm: LimitReading;
  concurrency: { used: number; allowed: number | null };
  tokens: WindowReadings & { minute: LimitReading };
  budget: WindowReadings;
  /** Only where there are such budgets. */
  calendar_budget?: CalendarReadings;
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

  const planLimits: Limit[] = readableLimits(plan, scope(null));
  const tiers = [...plan.tiers];
  for (const [tier, limits] of tiers) planLimits.push(...readableTierLimits(tier, limits, scope(tier)));
  if (ofKey !== null) planLimits.push(...readableLimits(ofKey.limits, ofKey.scope));

  const places = ofKey === null ? [scope(null)] : [scope(null), ofKey.scope];
  const [states, running] = await Promise.all([counters.read(account, planLimits), counters.running(account, places)]);

  let at = 0;
  const next = () => readingOf(planLimits[at]!, states[at++]!);
  // In the order in which they were asked.
  const ofPlan = readingsOf(next, running[0] ?? 0, plan);
  const ofTiers = tiers.map(([tier]) => [tier, { rpm: next(), windows: windowsOf(next) }] as const);
  return {
    ...ofPlan,
    tiers: Object.fromEntries(ofTiers),
    key: ofKey === null ? null : readingsOf(next, running[1] ?? 0, ofKey.limits),
  };
}

/** In USD. */
export interface CreditReading {
  granted: number;
  used: number;
  /** Below zero by what ran when it came to its end. */
  remaining: number;
}

/** Rest of an account's credit. Counts nothing. Rejects with FailureError `quota-unavailable`. */
export async function readCredit(
  counters: Pick<Counters, 'read'>,
  account: string,
  creditNano: number,
): Promise<CreditReading> {
  const [state] = await counters.read(account, [creditLimit(account, creditNano)]);
  const used = state?.used ?? 0;
  return {
    granted: amountOf('usd', creditNano),
    used: amountOf('usd', used),
    remaining: amountOf('usd', creditNano - used),
  };
}

/** Every limit that a plan or a key may have, in one order; `allowed` is infinite where there is none. */
export function readableLimits(limits: KeyLimits, scope: string): Limit[] {
  return [
    limit('minute', 'calls', 'minute', wholeCalls(limits.rpm), scope),
    ...windowNames.map((window) => limit(window, 'units', window, orEndless(limits.units[window]), scope)),
    limit('tokens:minute', 'tokens', 'minute', orEndless(limits.tpm), scope),
    ...windowNames.map((window) =>
      limit(`tokens:${window}`, 'tokens', window, orEndless(limits.tokens[window]), scope),
    ),
    ...windowNames.map((window) => limit(`budget:${window}`, 'usd', window, orEndless(limits.usdNano[window]), scope)),
    ...limits.calendar.map((budget) => calendarLimit(budget, scope)),
  ];
}

/** The same of one tier. */
export function readableTierLimits(
  tier: string,
  { rpm, units }: Pick<KeyLimits, 'rpm' | 'units'>,
  scope: string,
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

function readingsOf(next: () => LimitReading, running: number, { concurrency, calendar }: KeyLimits): LimitReadings {
  const rpm = next();
  const windows = windowsOf(next);
  const minute = next();
  return {
    windows,
    rpm,
    concurrency: { used: running, allowed: concurrency },
    tokens: { minute, ...windowsOf(next) },
    budget: windowsOf(next),
    ...(calendar.length > 0 && { calendar_budget: calendarOf(next, calendar) }),
  };
}

function calendarOf(next: () => LimitReading, budgets: readonly CalendarBudget[]): CalendarReadings {
  const readings = budgets.map(({ period }) => [period.name, next()] as const);
  return { time_zone: budgets[0]?.period.zone ?? 'UTC', ...Object.fromEntries(readings) };
}

function windowsOf(next: () => LimitReading): WindowReadings {
  return { '5h': next(), week: next(), month: next() };
}

function readingOf({ measure, allowed }: Limit, { used, leavesAtMs }: LimitState): LimitReading {
  const endless = allowed === Number.POSITIVE_INFINITY;
  return {
    used: amountOf(measure, used),
    allowed: endless ? null : amountOf(measure, allowed),
    remaining: endless ? null : amountOf(measure, Math.max(0, allowed - used)),
    resets_at: leavesAtMs === null ? null : new Date(leavesAtMs).toISOString(),
  };
}

import { hash } from 'node:crypto';
import type { PartBudgetConfig } from '../../config/schema.ts';
import { matchesGlob } from '../auth/model-glob.ts';
import { nanoUsd, partScope } from './counter-scope.ts';
import type { Counters, Limit, LimitState } from './counters.ts';
import { amountOf } from './limits/quota-message.ts';
import { CalendarPeriod, type PeriodName, type WindowName } from './window.ts';

/** Parts of a request that budgets within an account look at. */
export interface RequestParts {
  user: string | null;
  tag: string | null;
  /** Models that may answer it. */
  models: readonly string[];
}

export const partKinds = ['user', 'tag', 'model'] as const;

/** One that a request must pass. */
export interface PartLimit extends Limit {
  part: { kind: (typeof partKinds)[number]; value: string };
}

/**
 * Budgets of an account that this request must pass. A budget that names a user, tag or model replaces the one of each
 * for the same time. Requests that name no user (no tag) count together.
 */
export function partLimits(
  account: string,
  budgets: readonly PartBudgetConfig[],
  { user, tag, models }: RequestParts,
): PartLimit[] {
  const limits = [
    ...limitsOf(account, budgets, 'user', user ?? ''),
    ...limitsOf(account, budgets, 'tag', tag ?? ''),
    ...models.flatMap((model) => limitsOf(account, budgets, 'model', model)),
  ];
  // Several models may share a budget.
  return [...new Map(limits.map((one) => [`${one.id} ${one.scope}`, one])).values()];
}

function limitsOf(
  account: string,
  budgets: readonly PartBudgetConfig[],
  kind: PartLimit['part']['kind'],
  value: string,
): PartLimit[] {
  const named = budgets.filter((one) => {
    const name = one[kind];
    return name !== undefined && (kind === 'model' ? matchesGlob(name, value) : name === value);
  });
  const times = new Set(named.map(timeOf));
  const ofEach = budgets.filter((one) => one.by === kind && !times.has(timeOf(one)));
  return [...named, ...ofEach].map((budget) => partLimit(account, budget, kind, budget[kind] ?? value));
}

function partLimit(
  account: string,
  budget: PartBudgetConfig,
  kind: PartLimit['part']['kind'],
  value: string,
): PartLimit {
  const { calendar, time_zone = 'UTC', window, usd } = budget;
  const period = calendar === undefined ? undefined : periodOf(calendar, time_zone);
  return {
    id: `budget:${kind}:${period?.id ?? window}`,
    scope: partScope(account, kind, hash('sha256', value, 'base64url').slice(0, digestChars)),
    measure: 'usd',
    span: window ?? 'month',
    ...(period !== undefined && { period }),
    allowed: nanoUsd(usd),
    rule: 'post-paid',
    part: { kind, value },
  };
}

/** 120 bits. */
const digestChars = 20;

function timeOf({ window, calendar, time_zone = 'UTC' }: PartBudgetConfig): string {
  return window ?? `${calendar}@${time_zone}`;
}

/** Few differ, and to make one is dear. */
const periods = new Map<string, CalendarPeriod>();
const periodsMax = 1_000;

function periodOf(name: PeriodName, zone: string): CalendarPeriod {
  const id = `${name}@${zone}`;
  let period = periods.get(id);
  if (period === undefined) {
    if (periods.size >= periodsMax) periods.clear();
    period = new CalendarPeriod(name, zone);
    periods.set(id, period);
  }
  return period;
}

/** Owners of the requested budgets, in addition to those that a budget names. */
export type RequestedParts = Partial<Record<PartLimit['part']['kind'], string>>;

/** State of a budget within an account, as people read it. */
export interface PartReading {
  user?: string;
  tag?: string;
  model?: string;
  window?: WindowName;
  calendar?: PeriodName;
  time_zone?: string;
  used: number;
  allowed: number;
  remaining: number;
  resets_at: string | null;
}

function readingOf({ part, period, span, allowed }: PartLimit, { used, leavesAtMs }: LimitState): PartReading {
  const time =
    period === undefined ? { window: span as WindowName } : { calendar: period.name, time_zone: period.zone };
  return {
    [part.kind]: part.value,
    ...time,
    used: amountOf('usd', used),
    allowed: amountOf('usd', allowed),
    remaining: amountOf('usd', Math.max(0, allowed - used)),
    resets_at: leavesAtMs === null ? null : new Date(leavesAtMs).toISOString(),
  };
}

/**
 * States of budgets: those that name a user, tag or model, and those of each for the requested ones. Counts nothing.
 * Rejects with FailureError `quota-unavailable`.
 */
export async function readParts(
  counters: Pick<Counters, 'read'>,
  account: string,
  budgets: readonly PartBudgetConfig[],
  requested: RequestedParts,
): Promise<PartReading[]> {
  const limits = shownParts(account, budgets, requested);
  if (limits.length === 0) return [];
  const states = await counters.read(account, limits);
  return limits.flatMap((limit, at) => {
    const state = states[at];
    return state === undefined ? [] : [readingOf(limit, state)];
  });
}

function shownParts(account: string, budgets: readonly PartBudgetConfig[], requested: RequestedParts): PartLimit[] {
  const shown: PartLimit[] = [];
  for (const kind of partKinds) {
    for (const budget of budgets) {
      const value = budget[kind];
      if (value !== undefined) shown.push(partLimit(account, budget, kind, value));
    }
    const value = requested[kind];
    if (value === undefined) continue;
    for (const one of limitsOf(account, budgets, kind, value)) {
      if (!shown.some(({ id, scope }) => id === one.id && scope === one.scope)) shown.push(one);
    }
  }
  return shown;
}

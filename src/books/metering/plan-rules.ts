import { type ExtraBudget, extraAmounts } from '../../config/declared.ts';
import { parseInstantMs } from '../../config/scalars.ts';
import type { Config, KeyLimitsConfig, PlanConfig } from '../../config/schema.ts';
import { nanoUsd } from './counter-scope.ts';
import type { CalendarBudget, KeyLimits, Plan, SoftLimits, TierLimits } from './plan.ts';
import { CalendarPeriod, periodNames, type WindowName } from './window.ts';

/** Amounts as written: a number, `off`, or nothing. */
type Written = number | 'off' | null | undefined;
type WrittenWindows = Partial<Record<WindowName, Written>> | 'off' | undefined;

/**
 * A plan as admission needs it, by the rules of design §11: limits that a tier leaves out have the tier's default, and
 * only `off` disables. All other missing limits are unlimited (the schema has filled in an omitted rpm).
 */
export function planOf(name: string, written: PlanConfig, tiers: Config['tiers']): Plan {
  return {
    name,
    scope: written.scope,
    models: written.models === undefined || written.models === 'off' ? null : written.models,
    mcp: written.mcp === undefined || written.mcp === 'off' ? null : written.mcp,
    agents: written.agents === undefined || written.agents === 'off' ? null : written.agents,
    guards: written.guards ?? [],
    ...(written.data !== undefined && { data: written.data }),
    ...keyLimitsOf(written),
    tiers: tiersOf(written, tiers),
    abandoned: written.abandoned ?? 'tokens',
    storageBytes: number(written.storage),
    notify:
      written.notify === undefined
        ? null
        : {
            shares: written.notify.at.toSorted((a, b) => a - b),
            webhook: written.notify.webhook,
            secret: written.notify.secret,
          },
  };
}

/** Limits while their account may spend more than each of its budgets. */
export function raisedBy<Limits extends KeyLimits>(
  limits: Limits,
  extra: ExtraBudget | null | undefined,
  nowMs: number,
): Limits {
  if (extra == null || extra.untilMs <= nowMs) return limits;
  const { usd = 0, tokens = 0, requests = 0 } = extra;
  const raised = (windows: Limits['tokens'], more: number) => windowsOf(windows, (amount) => amount + more);
  return {
    ...limits,
    units: raised(limits.units, milliUnits(requests)),
    tokens: raised(limits.tokens, tokens),
    usdNano: raised(limits.usdNano, nanoUsd(usd)),
    calendar: limits.calendar.map(({ period, usdNano }) => ({ period, usdNano: usdNano + nanoUsd(usd) })),
  };
}

/** Limits of a key, with its extra budget while that lasts. */
export function limitsOfKey(written: KeyLimitsConfig, nowMs: number): KeyLimits {
  return raisedBy(keyLimitsOf(written), extraOf(written), nowMs);
}

export function extraOf({ extra_budget: extra }: KeyLimitsConfig): ExtraBudget | null {
  return extra === undefined ? null : { ...extraAmounts(extra), untilMs: parseInstantMs(extra.until) ?? 0 };
}

/** The limits of plans and of single keys. A limit that is left out does not exist. */
export function keyLimitsOf(written: Omit<KeyLimitsConfig, 'mcp' | 'agents' | 'extra_budget' | 'data'>): KeyLimits {
  return {
    rpm: number(written.rpm),
    tpm: number(written.tpm),
    concurrency: number(written.concurrency),
    units: windowsOf(written.windows, milliUnits),
    ...spentLimitsOf(written),
    ...(written.soft !== undefined && { soft: spentLimitsOf(written.soft) }),
  };
}

function spentLimitsOf(written: NonNullable<KeyLimitsConfig['soft']>): SoftLimits {
  return {
    tokens: windowsOf(written.tokens, Math.round),
    usdNano: windowsOf(written.budget, nanoUsd),
    calendar: calendarOf(written.calendar_budget),
  };
}

function calendarOf(written: KeyLimitsConfig['calendar_budget']): CalendarBudget[] {
  if (written === undefined || written === 'off') return [];
  return periodNames.flatMap((name) => {
    const usd = number(written[name]);
    return usd === null ? [] : [{ period: new CalendarPeriod(name, written.time_zone), usdNano: nanoUsd(usd) }];
  });
}

function tiersOf(written: PlanConfig, tiers: Config['tiers']): ReadonlyMap<string, TierLimits> {
  const limits = new Map<string, TierLimits>();
  if (written.tier_limits === 'off') return limits;
  const ofPlan = new Map(Object.entries(written.tier_limits ?? {}));
  const shared = new Map(Object.entries(tiers));
  for (const tier of new Set([...shared.keys(), ...ofPlan.keys()])) {
    const ofThisPlan = ofPlan.get(tier) ?? {};
    if (ofThisPlan === 'off') continue;
    const base = shared.get(tier) ?? {};
    const field = (key: 'rpm' | WindowName): Written => ofThisPlan[key] ?? (base === 'off' ? undefined : base[key]);
    const rpm = number(field('rpm'));
    const units = windowsOf({ '5h': field('5h'), week: field('week'), month: field('month') }, milliUnits);
    if (rpm === null && Object.values(units).every((amount) => amount === null)) continue;
    limits.set(tier, { rpm, units });
  }
  return limits;
}

function windowsOf(written: WrittenWindows, whole: (amount: number) => number): Record<WindowName, number | null> {
  const amount = (window: WindowName): number | null => {
    const value = written === undefined || written === 'off' ? null : number(written[window]);
    return value === null ? null : whole(value);
  };
  return { '5h': amount('5h'), week: amount('week'), month: amount('month') };
}

function number(written: Written): number | null {
  return written === undefined || written === 'off' ? null : written;
}

function milliUnits(units: number): number {
  return Math.round(units * 1_000);
}

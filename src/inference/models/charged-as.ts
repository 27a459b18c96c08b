import type { Plan, TierLimits } from '../../books/metering/plan.ts';
import { spans, windowNames } from '../../books/metering/window.ts';
import type { Alias } from './alias.ts';

/** Cost of a request, times its endpoint's own, and the tier in which it counts. */
export interface ChargedAs extends Pick<Alias, 'cost' | 'tier'> {
  /** Further models that may answer, whose budgets count the request too. Absent: none. */
  furtherModels?: readonly string[];
}

/**
 * Any of the models that a caller names may answer, so the request is charged the dearest's cost and counts in the tier
 * that the plan limits most: otherwise `models` would bypass both. The fallbacks that an operator gives an alias cost
 * what the alias costs.
 */
export function chargedAs(named: readonly [ChargedAs, ...ChargedAs[]], plan: Plan): ChargedAs {
  let cost = 0;
  let tier = named[0].tier;
  for (const alias of named) {
    cost = Math.max(cost, alias.cost);
    if (allowancePerMonth(plan, alias.tier) < allowancePerMonth(plan, tier)) tier = alias.tier;
  }
  return { cost, tier };
}

/** Milli-units that a tier's tightest limit lets through in a month; what makes tiers comparable. */
function allowancePerMonth(plan: Plan, tier: string | null): number {
  const limits: TierLimits | undefined = tier === null ? undefined : plan.tiers.get(tier);
  if (limits === undefined) return Number.POSITIVE_INFINITY;
  const monthMs = spans.month.spanMs;
  const perMonth = windowNames.map((name) => {
    const allowed = limits.units[name];
    return allowed === null ? Number.POSITIVE_INFINITY : (allowed * monthMs) / spans[name].spanMs;
  });
  const calls = limits.rpm === null ? Number.POSITIVE_INFINITY : (limits.rpm * 1_000 * monthMs) / spans.minute.spanMs;
  return Math.min(calls, ...perMonth);
}

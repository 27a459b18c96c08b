import { didYouMean } from '../kernel/nearest.ts';
import { unknownGuards } from './cross-check-guards.ts';
import type { ConfigPath, PathProblem } from './problem.ts';
import { contradiction, windowPairs } from './schema/schema-plans.ts';
import type { Config, PlanConfig } from './schema.ts';

/** Plans that are named exist, and plans fit the tiers and windows that they speak of. */
export function checkPlans(config: Config): PathProblem[] {
  const problems: PathProblem[] = [];
  const check = (plan: string | undefined, path: ConfigPath) => {
    if (plan === undefined || Object.hasOwn(config.plans, plan)) return;
    problems.push({ path, message: `there is no such plan${didYouMean(plan, Object.keys(config.plans))}` });
  };
  check(config.default_plan, ['default_plan']);
  for (const [name, account] of Object.entries(config.accounts)) check(account.plan, ['accounts', name, 'plan']);
  config.keys.forEach((key, index) => {
    check(key.plan, ['keys', index, 'plan']);
  });
  config.callers.tokens.forEach(({ plans }, index) => {
    for (const [value, plan] of Object.entries(plans?.by ?? {}))
      check(plan, ['callers', 'tokens', index, 'plans', 'by', value]);
  });
  config.callers.certificates?.accounts.forEach(({ plan }, index) => {
    check(plan, ['callers', 'certificates', 'accounts', index, 'plan']);
  });
  if (config.callers.certificates !== undefined && config.server.trusted_proxies.length === 0) {
    const message = 'only proxies of server.trusted_proxies may say who calls, and that list is empty';
    problems.push({ path: ['callers', 'certificates'], message });
  }
  for (const [name, plan] of Object.entries(config.plans)) {
    for (const { path, message } of checkPlan(plan, config)) problems.push({ path: ['plans', name, ...path], message });
  }
  return problems;
}

/** Checks of one plan that its own schema cannot make; paths begin in the plan. The admin API uses them, too. */
export function checkPlan(plan: PlanConfig, config: Pick<Config, 'tiers' | 'models' | 'guards'>): PathProblem[] {
  return [...unknownGuards([], plan, config), ...checkTiers(plan, config), ...checkNotify(plan, config.tiers)];
}

function checkTiers(plan: PlanConfig, { tiers, models }: Pick<Config, 'tiers' | 'models'>): PathProblem[] {
  if (plan.tier_limits === undefined || plan.tier_limits === 'off') return [];
  const known = new Set(Object.keys(tiers));
  for (const { tier } of Object.values(models)) if (tier !== undefined) known.add(tier);
  const problems: PathProblem[] = [];
  for (const [tier, tierLimits] of Object.entries(plan.tier_limits)) {
    const path = ['tier_limits', tier];
    if (!known.has(tier)) {
      const message = `no model has this tier, and tiers does not define it${didYouMean(tier, [...known])}`;
      problems.push({ path, message });
      continue;
    }
    const shared = Object.hasOwn(tiers, tier) ? tiers[tier] : 'off';
    if (tierLimits === 'off' || shared === undefined || shared === 'off') continue;
    for (const { shorter, longer } of windowPairs) {
      // The schema has checked it when the plan has both. Here one of the two comes from the tier.
      if ((tierLimits[shorter] === undefined) === (tierLimits[longer] === undefined)) continue;
      const [short, long] = [tierLimits[shorter] ?? shared[shorter], tierLimits[longer] ?? shared[longer]];
      if (typeof short !== 'number' || typeof long !== 'number' || short <= long) continue;
      if (tierLimits[shorter] === undefined) {
        problems.push({ path: [...path, longer], message: `is less than the ${shorter} of tiers.${tier} allows` });
      } else {
        problems.push({ path: [...path, shorter], message: contradiction(`the ${longer} of tiers.${tier}`) });
      }
    }
  }
  return problems;
}

/** Notices tell of windows that fill up: without any, none would ever be sent. */
function checkNotify(plan: PlanConfig, tiers: Config['tiers']): PathProblem[] {
  if (plan.notify === undefined) return [];
  const tierLimits =
    plan.tier_limits === 'off' ? [] : [...Object.values(plan.tier_limits ?? {}), ...Object.values(tiers)];
  const spent = [plan, plan.soft ?? {}].flatMap(({ tokens, budget, calendar_budget }) => [
    tokens,
    budget,
    calendar_budget,
  ]);
  const windowed = [plan.windows, ...spent, ...tierLimits].some(hasWindow);
  return windowed ? [] : [{ path: ['notify'], message: 'does nothing here: the plan limits no window' }];
}

function hasWindow(
  limits: Partial<Record<'5h' | 'day' | 'week' | 'month', number | 'off' | undefined>> | 'off' | undefined,
): boolean {
  if (limits === undefined || limits === 'off') return false;
  return (['5h', 'day', 'week', 'month'] as const).some((window) => typeof limits[window] === 'number');
}

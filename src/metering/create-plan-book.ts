import type { PlanRow } from '../auth/account-store.ts';
import { matchesGlob } from '../auth/model-glob.ts';
import type { Principal } from '../auth/principal.ts';
import type { Config } from '../config/schema.ts';
import { planSchema } from '../config/schema-plans.ts';
import { limitSetOf } from './limit-set.ts';
import type { Plan } from './plan.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';
import { keyLimitsOf, planOf } from './plan-rules.ts';

export interface PlanSources {
  config: Pick<Config, 'plans' | 'tiers' | 'default_plan'>;
  /** Those made through the admin API; the file's win over them. */
  stored: readonly PlanRow[];
  /** A stored plan that cannot be read any more: its accounts have the default plan meanwhile. */
  onUnreadable?(name: string): void;
}

/** The plans in force, until the next change of the configuration or of the stored plans makes another book. */
export function createPlanBook({ config, stored, onUnreadable }: PlanSources): PlanBook {
  const plans = new Map<string, { plan: Plan; from: 'configuration' | 'admin api' }>();
  for (const [name, written] of Object.entries(config.plans)) {
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
  const plan = (name: string) => plans.get(name)?.plan ?? fallback;

  /** By caller and tier. A key ring makes new principals at every change, so that old ones go by themselves. */
  const sets = new WeakMap<Principal, Map<string | null, LimitSet>>();

  return {
    plan,
    has: (name) => plans.has(name),
    all: () => [...plans.values()],
    limits(principal, tier) {
      let ofPrincipal = sets.get(principal);
      if (ofPrincipal === undefined) {
        ofPrincipal = new Map();
        sets.set(principal, ofPrincipal);
      }
      let set = ofPrincipal.get(tier);
      if (set === undefined) {
        const own = principal.limits === null ? null : keyLimitsOf(principal.limits);
        set = limitSetOf(plan(principal.plan), own, principal, tier);
        ofPrincipal.set(tier, set);
      }
      return set;
    },
  };
}

/** Whether a plan may use this alias; its `models` are globs. */
export function planAllows(plan: Plan, alias: string): boolean {
  return plan.models === null || plan.models.some((glob) => matchesGlob(glob, alias));
}

import type { Principal } from '../auth/principal.ts';
import type { Limit, Scope } from './counters.ts';
import type { Plan } from './plan.ts';

/** The plans in force: those of the configuration and those made through the admin API, the file's first. */
export interface PlanBook {
  /** A plan by name; the default plan for a name that nobody knows any more. */
  plan(name: string): Plan;
  has(name: string): boolean;
  all(): readonly { plan: Plan; from: 'configuration' | 'admin api' }[];
  /** Everything that limits a request of this caller on a model of this tier. Kept per caller: asked at every request. */
  limits(principal: Principal, tier: string | null): LimitSet;
}

/** The limits of one caller at one tier, in the order in which a 429 prefers them: tier, then windows. */
export interface LimitSet {
  /** Of measure `calls`, before the body. */
  calls: readonly Limit[];
  /** The same for free calls, which are counted apart. */
  freeCalls: readonly Limit[];
  /** Requests at one time. */
  places: readonly { id: string; scope: string; allowed: number }[];
  /** After the model: a tier's rpm, units, tokens, USD. */
  windows: readonly Limit[];
  /** Where a request counts whatever its limits are (`scopesOf`). */
  scopes: readonly Scope[];
}

import type { PlanBook } from '../../books/metering/plan-book.ts';
import type { Config } from '../../config/schema.ts';
import type { ScopedStep } from '../models/steps.ts';
import type { GuardParts } from './guard-steps.ts';

/** The present callers, as guards apply to them. */
export interface GuardedCallers {
  plans(): PlanBook;
  /** Whether a plan, an account or a key names a guard. */
  nameGuards(): boolean;
}

/** The guards of a configuration as steps. Their code is loaded where there are guards, or names of some. */
export async function loadGuards(
  config: Config,
  { plans, nameGuards }: GuardedCallers,
  parts: Omit<GuardParts, 'plans'>,
): Promise<readonly ScopedStep[]> {
  if (Object.keys(config.guards).length === 0 && !nameGuards()) return [];
  const { guardSteps } = await import('./guard-steps.ts');
  return guardSteps(config, { plans, ...parts });
}

import { FailureError } from '../../../kernel/failure.ts';
import { endless } from '../../../kernel/limits.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Counters, Limit, LimitState, Measure } from '../counters.ts';
import type { RequestParts } from '../part-budgets.ts';

/** Shares that are left of the fullest limits of a caller, 0 to 1; 1 where it has none. */
export interface LimitsLeft {
  budget: number;
  units: number;
  /** Budgets of the end user and the tag within the account. */
  parts: readonly PartLeft[];
}

/** Nano-USD that are left of one of them. Requests of one `scope` share it. */
export interface PartLeft {
  scope: string;
  usdNano: number;
}

/** Reads them, counting nothing. Null: the counters cannot be asked. */
export async function limitsLeft(
  counters: Pick<Counters, 'read'>,
  plans: { limits(principal: Principal, tier: null, parts?: RequestParts): { windows: readonly Limit[] } },
  principal: Principal,
  parts: RequestParts,
): Promise<LimitsLeft | null> {
  const { windows } = plans.limits(principal, null, principal.budgets === undefined ? undefined : parts);
  const sharedWindows = windows.filter(({ measure, allowed }) => isShared(measure) && allowed < endless);
  try {
    const states = sharedWindows.length === 0 ? [] : await counters.read(principal.account, sharedWindows);
    return {
      budget: leastOf(sharedWindows, states, 'usd'),
      units: leastOf(sharedWindows, states, 'units'),
      parts: principal.budgets === undefined ? [] : partsLeft(sharedWindows, states),
    };
  } catch (error) {
    if (error instanceof FailureError) return null;
    throw error;
  }
}

function isShared(measure: Measure): boolean {
  return measure === 'usd' || measure === 'units';
}

function partsLeft(limits: readonly Limit[], states: readonly LimitState[]): PartLeft[] {
  return limits.flatMap((limit, index) => {
    if (limit.part === undefined || limit.part.kind === 'model') return [];
    const { id, scope, allowed } = limit;
    return [{ scope: `${id} ${scope}`, usdNano: allowed - (states[index]?.used ?? 0) }];
  });
}

function leastOf(limits: readonly Limit[], states: readonly LimitState[], measure: Measure): number {
  let least = 1;
  limits.forEach((limit, index) => {
    if (limit.measure !== measure) return;
    const used = states[index]?.used ?? 0;
    least = Math.min(least, limit.allowed <= 0 ? 0 : 1 - used / limit.allowed);
  });
  return Math.max(0, least);
}

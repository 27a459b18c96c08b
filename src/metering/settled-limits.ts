import type { Claim } from './admission.ts';
import type { Counters, Limit } from './counters.ts';
import type { ObserveLimits } from './limited-admission.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';
import type { Settled } from './settlement.ts';

export interface SettledLimitsParts {
  counters: Pick<Counters, 'settle' | 'read'>;
  plans(): PlanBook;
  observe: ObserveLimits;
}

/** Accounts being looked at, at most; beyond it the next reservation's look has to do. */
const looksMax = 1_000;

/**
 * What settlement does to the counters: gives back what was not used and adds tokens and USD. Where a plan has notices
 * of them, the limits that only settlement moves are looked at afterwards, one look an account at a time: nobody else
 * would see the last one be reached, since nothing is admitted from then on.
 */
export function createSettledLimits({ counters, plans, observe }: SettledLimitsParts): Settled {
  /** True: settled again while it was looked at. */
  const looks = new Map<string, boolean>();
  /** One list a set of limits, always the same one: whoever is told may keep what it knows by the list. */
  const postPaid = new WeakMap<LimitSet, readonly Limit[]>();

  function postPaidOf(set: LimitSet): readonly Limit[] {
    let limits = postPaid.get(set);
    if (limits === undefined) {
      limits = set.windows.filter(({ rule }) => rule === 'post-paid');
      postPaid.set(set, limits);
    }
    return limits;
  }

  async function look(claim: Claim, limits: readonly Limit[]): Promise<void> {
    const { tenant, account } = claim.principal;
    if (looks.has(tenant)) {
      looks.set(tenant, true);
      return;
    }
    if (looks.size >= looksMax) return;
    try {
      do {
        looks.set(tenant, false);
        observe(claim, limits, await counters.read(account, limits));
      } while (looks.get(tenant) === true);
    } catch {
      // Notices are advisory: the next request looks again.
    } finally {
      looks.delete(tenant);
    }
  }

  return (reservation, spent, claim) => {
    counters.settle(reservation.held, spent);
    const book = plans();
    if (book.plan(claim.principal.plan).notify === null) return;
    const limits = postPaidOf(book.limits(claim.principal, claim.tier));
    if (limits.length > 0) void look(claim, limits);
  };
}

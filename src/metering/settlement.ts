import { blankEvent, settledEvent } from '../ledger/columns.ts';
import type { Claim, Reservation } from './admission.ts';
import { chargeOf, type Delivered, type MeteredUsage, type TokenPrice, type UsageOrigin, usdOf } from './charge.ts';
import type { Counters, Limit, Spent } from './counters.ts';
import type { Ledger, ReservationRow, UsageEvent, UsageRoute } from './ledger.ts';
import type { ObserveLimits } from './limited-admission.ts';
import type { LimitSet, PlanBook } from './plan-book.ts';
import { nanoUsd } from './scope.ts';

/** What the pipeline knows at the end of a request, in the ledger's own words. Nothing here is checked again. */
export interface RequestFacts {
  clientRequestId: string | null;
  status: number;
  class: string;
  stream: boolean;
  aborted: boolean;
  ms: number;
  firstTokenMs: number | null;
  target: string | null;
  user: string | null;
  route: UsageRoute;
  claim: Claim;
  delivery: Delivered;
  /** Of what was held, as much as was really done, where not all of it was; in milli-units. */
  doneMilli?: number;
  price: TokenPrice | null;
  /** Of the attempt that answered; null when neither the upstream nor we could count. */
  usage: MeteredUsage | null;
  usageSource: UsageOrigin;
}

/** Called once per settled reservation, before the books are closed: quota is given back here. */
export type Settled = (reservation: Reservation, spent: Spent, claim: Claim) => void;

/** Where every reservation ends. */
export interface Settlement {
  /**
   * Ends a reservation: charges, gives back the rest, writes the usage event. Belongs in `finally`. Only the first
   * call for a reservation counts; later ones return null. Never throws and never waits.
   */
  settle(reservation: Reservation, facts: RequestFacts): UsageEvent | null;
}

/** `settled` hears of each before the books are closed; `plans` are those in force. */
export function createSettlement(
  ledger: Pick<Ledger, 'close'>,
  settled: Settled,
  plans: () => Pick<PlanBook, 'plan'>,
): Settlement {
  return {
    settle(reservation, facts) {
      // Noted on the reservation itself: a WeakSet of them would be work for every garbage collection.
      if (reservation.state === 'settled') return null;
      reservation.state = 'settled';
      const charge = chargeOf(
        facts.delivery,
        Math.min(reservation.costMilli, facts.doneMilli ?? reservation.costMilli),
        {
          usage: facts.usage,
          source: facts.usageSource,
          inputTokensEstimate: facts.claim.inputTokensEstimate,
        },
        plans().plan(facts.claim.principal.plan),
      );
      const costUsd = usdOf(charge.usage, facts.price);
      const event = settledEvent({ facts, charge, costUsd, quotaMs: reservation.held.quotaMs });
      settled(reservation, spentOf(event), facts.claim);
      ledger.close(event);
      return event;
    },
  };
}

/** What the counters are told; the same amounts that `bucketsOf` writes of the event. */
function spentOf({ costMilli, inputTokens, outputTokens, costUsd }: UsageEvent): Spent {
  return { costMilli, tokens: inputTokens + outputTokens, usdNano: nanoUsd(costUsd) };
}

/**
 * The event of a request whose process died before it was settled: charged what it held, tokens as estimated. Nobody
 * knows what the caller saw; never 0, never twice (faults.md F38).
 */
export function crashedEvent({ bootId: _, inputTokensEstimate, ...booked }: ReservationRow): UsageEvent {
  return {
    ...blankEvent,
    ...booked,
    // Nobody knows when; its own instant keeps it out of windows it had left.
    settledMs: booked.quotaMs,
    status: 500,
    class: 'crashed',
    aborted: true,
    inputTokens: inputTokensEstimate,
    usageSource: 'estimated',
    route: { alias: booked.alias, verdicts: [], attempts: [], losses: [], passThrough: false },
  };
}

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

import { blankEvent, eventOf } from '../ledger/columns.ts';
import type { Claim, Reservation } from './admission.ts';
import { chargeOf, type Delivered, type MeteredUsage, type UsageOrigin } from './charge.ts';
import type { Spent } from './counters.ts';
import type { Ledger, ReservationRow, UsageEvent, UsageRoute } from './ledger.ts';
import type { PlanBook } from './plan-book.ts';
import { type TokenPrice, usdOf } from './price.ts';
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
      const event = eventOf({ facts, charge, costUsd, quotaMs: reservation.held.quotaMs });
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

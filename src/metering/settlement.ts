import type { Claim, Reservation } from './admission.ts';
import { type Charge, chargeOf, type Delivered, type MeteredUsage, type UsageOrigin } from './charge.ts';
import type { Spent } from './counters.ts';
import type { Ledger, UsageEvent } from './ledger.ts';
import type { PlanBook } from './plan-book.ts';
import { type TokenPrice, usdOf } from './price.ts';
import { nanoUsd } from './scope.ts';

/** What the pipeline knows at the end of a request, in the ledger's own words. Nothing here is checked again. */
export interface RequestFacts
  extends Pick<
    UsageEvent,
    'clientRequestId' | 'status' | 'class' | 'stream' | 'aborted' | 'ms' | 'firstTokenMs' | 'target' | 'user' | 'route'
  > {
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
      const event = usageEventOf(facts, charge, reservation.held.quotaMs);
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

/** The ledger's row for a request with a given charge. */
function usageEventOf(facts: RequestFacts, charge: Charge, quotaMs: number): UsageEvent {
  const { claim } = facts;
  const { usage } = charge;
  return {
    requestId: claim.requestId,
    clientRequestId: facts.clientRequestId,
    atMs: claim.atMs,
    account: claim.principal.account,
    keyId: claim.principal.keyId,
    tenant: claim.principal.tenant,
    endpoint: claim.endpoint,
    alias: claim.alias,
    tier: claim.tier,
    quotaMs,
    settledMs: claim.atMs + Math.round(facts.ms),
    target: facts.target,
    status: facts.status,
    class: facts.class,
    stream: facts.stream,
    aborted: facts.aborted,
    ms: Math.round(facts.ms),
    firstTokenMs: facts.firstTokenMs === null ? null : Math.round(facts.firstTokenMs),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    characters: usage.characters ?? 0,
    audioMs: usage.audioMs ?? 0,
    images: usage.images ?? 0,
    costMilli: charge.costMilli,
    costUsd: usdOf(usage, facts.price),
    usageSource: charge.usageSource,
    user: facts.user,
    route: facts.route,
  };
}

import type { Config } from '../../config/schema.ts';
import { cacheSavedUsd, usdOf } from '../../formats/neutral/price.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import { blankEvent, settledEvent } from '../ledger/columns.ts';
import type {
  Charge,
  Claim,
  CostLine,
  Delivered,
  ObserveLimits,
  Settled,
  Settlement,
  UsageOrigin,
} from './admission.ts';
import { nanoUsd } from './counter-scope.ts';
import type { Counters, Limit } from './counters.ts';
import type { Ledger, ReservationRow, UsageEvent } from './ledger.ts';
import type { Plan } from './plan.ts';
import type { PlanBook } from './plan-book.ts';
import { partsOf } from './quota.ts';

/** `settled` receives each before the ledger closes it; `plans` are those in force. */
export function createSettlement(
  ledger: Pick<Ledger, 'close' | 'began'>,
  settled: Settled,
  plans: () => Pick<PlanBook, 'plan'>,
): Settlement {
  return {
    began: ({ requestId }, { endpoint }) => ledger.began(requestId, endpoint),
    settle(reservation, facts, end = 'for good') {
      // Noted on the reservation itself: a WeakSet of them would be work for every garbage collection.
      if (reservation.state === 'settled') return null;
      if (end === 'for good') reservation.state = 'settled';
      const { claim } = facts;
      const doneMilli = Math.min(reservation.costMilli, facts.doneMilli ?? reservation.costMilli);
      const charge = chargeOf(
        facts.delivery,
        doneMilli,
        { usage: facts.usage, source: facts.usageSource, inputTokensEstimate: claim.inputTokensEstimate },
        plans().plan(claim.principal.plan),
      );
      const { price, besideUsd } = facts;
      // A price for each request is not charged either where nothing is. Null where nothing of it has a price.
      const isFree = charge === free;
      const isUnpriced = price === null && charge.usage.reportedUsdNano === undefined;
      const freeUsd = price === null ? null : 0;
      const chargeUsd = isFree || isUnpriced ? freeUsd : usdOf(charge.usage, price, claim.atMs);
      const costUsd = isFree || besideUsd === 0 ? chargeUsd : Math.round(1e9 * ((chargeUsd ?? 0) + besideUsd)) / 1e9;
      const event = settledEvent({ facts, charge, costUsd, quotaMs: reservation.held.quotaMs });
      if (event.cachedInputTokens + event.cacheWriteTokens > 0) {
        event.savedUsd ??= cacheSavedUsd(charge.usage, facts.price, claim.atMs);
      }
      // The same amounts that `bucketsOf` writes of the event.
      const tokens = event.inputTokens + event.outputTokens;
      const spent = { costMilli: event.costMilli, tokens, usdNano: nanoUsd(costUsd) };
      settled(reservation, spent, claim);
      if (end === 'in limits') {
        reservation.counted = { ...spent, atMs: event.settledMs };
        return null;
      }
      ledger.close(event);
      return event;
    },
  };
}

export interface SettledLimitsParts {
  counters: Pick<Counters, 'settle' | 'giveBack' | 'read'>;
  plans(): PlanBook;
  observe: ObserveLimits;
}

/** Limits of callers being looked at, at most; beyond it the next reservation's look has to do. */
const looksMax = 1_000;

/**
 * Settlement in the counters: it gives back the unused part and adds tokens and USD. If a plan has notices, the limits
 * that only settlement moves are checked afterwards, one check of the same limits at a time. Otherwise no one would see the
 * last one reached, because nothing is admitted from then on.
 */
export function createSettledLimits({ counters, plans, observe }: SettledLimitsParts): Settled {
  /** True: settled again while it was looked at. */
  const looks = new Map<readonly Limit[], boolean>();
  async function look(claim: Claim, limits: readonly Limit[]): Promise<void> {
    if (looks.has(limits)) return void looks.set(limits, true);
    if (looks.size >= looksMax) return;
    try {
      do {
        looks.set(limits, false);
        observe(claim, limits, await counters.read(claim.principal.account, limits));
      } while (looks.get(limits) === true);
    } catch {
      // Notices are advisory: the next request looks again.
    } finally {
      looks.delete(limits);
    }
  }

  return (reservation, spent, claim) => {
    const { held, counted } = reservation;
    if (counted === undefined) counters.settle(held, spent);
    else {
      counters.giveBack({
        ...held,
        costMilli: counted.costMilli - spent.costMilli,
        tokens: counted.tokens - spent.tokens,
        usdNano: counted.usdNano - spent.usdNano,
        settledMs: counted.atMs,
      });
    }
    const { principal, tier } = claim;
    const { notify, postPaid } = plans().limits(principal, tier, principal.budgets && partsOf(claim));
    if (notify && postPaid.length > 0) void look(claim, postPaid);
  };
}

/** Endpoint in the ledger of units that are held for lines at a provider's batch API. */
export const batchHoldEndpoint = 'batches';
/** The same of a response in a realtime session, until it begins. */
export const waitingResponseEndpoint = 'realtime (waits)';

/**
 * The event of a request whose process died before settlement: it is charged what it held, with estimated tokens.
 * Nobody knows what the caller saw; it is never 0 once the work began, and never charged twice (faults.md F38).
 */
export function crashedEvent({ bootId: _, inputTokensEstimate, ...booked }: ReservationRow): UsageEvent {
  return {
    ...blankEvent,
    ...booked,
    // Its lines are charged one by one.
    ...(booked.endpoint === batchHoldEndpoint && { costMilli: 0 }),
    ...(booked.endpoint === waitingResponseEndpoint && { endpoint: 'realtime', costMilli: 0 }),
    // The time of its end is unknown. The time of the hold keeps it out of windows that it had left.
    settledMs: booked.quotaMs,
    status: 500,
    class: 'crashed',
    aborted: true,
    inputTokens: inputTokensEstimate,
    usageSource: 'estimated',
    route: { alias: booked.alias, verdicts: [], attempts: [], losses: [], passThrough: false },
  };
}

const nothingUsed: Usage = { inputTokens: 0, outputTokens: 0 };
const free: Charge = { costMilli: 0, usage: nothingUsed, usageSource: 'none' };

/**
 * Design §11's rules. `reservedMilli` is kept once content went out and given back before. A caller who leaves early pays
 * what `plan.abandoned` says: the input tokens that were sent on their behalf, from the upstream's figure or else from the
 * estimate; or all as if it had been answered; or nothing.
 */
function chargeOf(
  delivery: Delivered,
  reservedMilli: number,
  used: { usage: Usage | null; source: UsageOrigin; inputTokensEstimate: number },
  plan: Pick<Plan, 'abandoned'>,
): Charge {
  switch (delivery === 'abandoned' && plan.abandoned === 'full' ? 'partial' : delivery) {
    case 'whole':
    case 'partial':
      return used.usage === null
        ? { costMilli: reservedMilli, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: reservedMilli, usage: used.usage, usageSource: used.source };
    case 'abandoned':
      if (plan.abandoned === 'free') return free;
      return used.usage === null
        ? { costMilli: 0, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: 0, usage: { ...used.usage, outputTokens: 0, reasoningTokens: 0 }, usageSource: used.source };
    case 'nothing':
      return free;
  }
}

function inputOnly(inputTokens: number): Usage {
  return { inputTokens, outputTokens: 0 };
}

/**
 * Charge for a call, in milli-units: its line × the cost of the model (1 if no model answers) × `count`, the images of
 * an image call, the pages of a crawl. Attempts, fallbacks and the items of a batch cost nothing more.
 */
export function costMilliOf(costs: Config['costs'], line: CostLine, modelCost = 1, count = 1): number {
  const units = typeof line === 'number' ? line : costs[line];
  return Math.round(units * modelCost * 1_000) * count;
}

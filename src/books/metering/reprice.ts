import { cacheSavedUsd, type Price, priceShare, usdOf } from '../../formats/neutral/price.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import { isUnpriced } from '../ledger/columns.ts';
import type { UsageAttempt, UsageEvent } from './ledger.ts';

/** Null: none is known. */
export type Priced = Price | null;

/**
 * A settled request as it would have been charged by the present price of its target; or why its cost stays. `unclear`:
 * several calls made the cost, and the record does not say what each cost.
 */
export function repriced(
  event: UsageEvent,
  priceOf: (model: string, target: string) => Priced,
): UsageEvent | 'no price' | 'unclear' | 'the same' {
  const { target, costUsd, atMs, alias } = event;
  // Nothing was used, or it was a kept answer.
  if (target === null || !isUnpriced({ ...event, costUsd: null })) return 'the same';
  const list = priceOf(alias, target);
  if (list === null) return costUsd === null ? 'no price' : 'the same';
  const share = event.route.priceShare;
  const price = typeof share === 'number' ? priceShare(list, share) : list;
  const answered = answerOf(event, target);
  const usage = answered?.usage ?? usageOf(event);
  const listUsd = usdOf(usage, price, atMs) ?? 0;
  const besideUsd = besideOf(event, answered);
  if (besideUsd === null) return 'unclear';
  const nextUsd = Math.round((listUsd + besideUsd) * 1e9) / 1e9;
  if (nextUsd === costUsd) return 'the same';
  const usesCache = event.cachedInputTokens + event.cacheWriteTokens > 0;
  return {
    ...event,
    costUsd: nextUsd,
    savedUsd: usesCache ? cacheSavedUsd(usage, price, atMs) : event.savedUsd,
    route: {
      ...event.route,
      chargedUsd: chargedUsd(event),
      attempts: event.route.attempts.map((one) => (one === answered ? { ...one, costUsd: listUsd } : one)),
    },
  };
}

/** The cost of a request at its settlement, which budgets counted: a recalculation writes it down. */
export function chargedUsd({ route, costUsd }: Pick<UsageEvent, 'route' | 'costUsd'>): number | null {
  return route.chargedUsd === undefined ? costUsd : (route.chargedUsd as number | null);
}

/**
 * A row that gave `paid` back, with the opposite of what that costs now; or why it stays. `now`: `paid` by the present
 * price, where it is recalculated too.
 */
export function repricedBack(
  back: UsageEvent,
  paid: UsageEvent | null,
  now: ReturnType<typeof repriced>,
): ReturnType<typeof repriced> {
  if (paid === null) return 'unclear';
  const { costUsd } = typeof now === 'string' ? paid : now;
  if (costUsd === null) return now;
  const nextUsd = 0 - costUsd;
  if (nextUsd === back.costUsd) return 'the same';
  return { ...back, costUsd: nextUsd, route: { ...back.route, chargedUsd: chargedUsd(back) } };
}

/** Usage for which a request was charged: of its answer, with parts that its row lacks, where the record has it. */
export function chargedUsage(event: UsageEvent): Usage {
  return (event.target === null ? null : answerOf(event, event.target)?.usage) ?? usageOf(event);
}

/** The attempt whose usage the request was charged for; null: none alone. */
function answerOf({ route, inputTokens, outputTokens }: UsageEvent, target: string): UsageAttempt | null {
  const isAnswer = ({ target: id, usage }: UsageAttempt) =>
    id === target && usage !== null && usage.inputTokens === inputTokens && usage.outputTokens === outputTokens;
  return route.attempts.findLast(isAnswer) ?? null;
}

/** USD of the request in addition to its answer's, such as of answers that a guard refused; null: unknown. */
function besideOf({ costUsd, route }: UsageEvent, answered: UsageAttempt | null): number | null {
  if (costUsd === null) return 0;
  if (answered !== null) return answered.costUsd === null ? null : costUsd - answered.costUsd;
  return route.attempts.every((one) => one.costUsd === null) ? 0 : null;
}

/** Usage by the columns of its row, which is all but parts that few prices have. */
function usageOf(event: UsageEvent): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = event;
  const { characters, audioMs, images, videoSeconds } = event;
  const tokens = { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens };
  return { ...tokens, characters, audioMs, images, videoSeconds };
}

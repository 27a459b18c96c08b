import { createPrice, type Price, usdOf } from '../neutral/price.ts';
import type { Usage } from '../neutral/usage.ts';
import type { JobProgress } from '../spine/job.ts';

/** Usage of one of several models for a call. */
type Part = Pick<JobProgress, 'usage' | 'answeredBy'>;

/**
 * Price of a token, on average over what several models used: of the sum of their tokens it makes the sum of their costs.
 * Models without a price cost nothing; null when none has one. `atMs`: wall-clock time of the call.
 */
export function jointPrice(parts: readonly Part[], atMs: number): Price | null {
  const priced = parts.map(({ usage, answeredBy }) => ({ usage, price: answeredBy?.target.price ?? null }));
  if (priced.every(({ price }) => price === null)) return null;
  const average = (tokens: keyof Pick<Usage, 'inputTokens' | 'outputTokens'>) => {
    let all = 0;
    let usd = 0;
    for (const { usage, price } of priced) {
      const used = usage?.[tokens] ?? 0;
      all += used;
      usd += usdOf({ inputTokens: 0, outputTokens: 0, [tokens]: used }, price, atMs) ?? 0;
    }
    return all === 0 ? 0 : (1e6 * usd) / all;
  };
  return createPrice([{ rates: { input: average('inputTokens'), output: average('outputTokens') } }]);
}

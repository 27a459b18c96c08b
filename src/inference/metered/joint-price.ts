import type { TokenPrice } from '../../metering/admission.ts';
import type { Usage } from '../neutral/usage.ts';
import type { JobProgress } from '../spine/job.ts';

/** What one of several models used for a call. */
type Part = Pick<JobProgress, 'usage' | 'answeredBy'>;

/**
 * Price of a token, on average over what several models used: of the sum of their tokens it makes the sum of their costs.
 * Models without a price cost nothing; null when none has one.
 */
export function jointPrice(parts: readonly Part[]): TokenPrice | null {
  const prices = parts.map(({ answeredBy }) => answeredBy?.target.price ?? null);
  if (prices.every((price) => price === null)) return null;
  const average = (tokens: keyof Pick<Usage, 'inputTokens' | 'outputTokens'>, side: 'input' | 'output') => {
    const used = parts.map(({ usage }) => usage?.[tokens] ?? 0);
    const all = used.reduce((sum, count) => sum + count, 0);
    return all === 0 ? 0 : used.reduce((sum, count, i) => sum + count * (prices[i]?.[side] ?? 0), 0) / all;
  };
  return { input: average('inputTokens', 'input'), output: average('outputTokens', 'output'), cachedInput: null };
}

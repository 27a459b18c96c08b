import { usdOf } from '../../formats/neutral/price.ts';
import type { JobProgress } from './job.ts';

type Part = Pick<JobProgress, 'usage' | 'answeredBy' | 'besideUsd'>;

/**
 * USD that `parts` cost beyond what the usage of all costs at the price of the target that `joined` names. Parts without
 * a price cost nothing. `atMs`: wall-clock time of the call.
 */
export function besideUsd(parts: readonly Part[], joined: Omit<Part, 'besideUsd'>, atMs: number): number {
  const usd = ({ usage, answeredBy }: Omit<Part, 'besideUsd'>) =>
    (usage && usdOf(usage, answeredBy?.target.price ?? null, atMs)) ?? 0;
  return parts.reduce((sum, part) => sum + usd(part) + part.besideUsd, -usd(joined));
}

import { RollingCount } from './rolling-count.ts';

const bucketMs = 1_000;
const windowBuckets = 10;
/** Further attempts that hardly anything speaks for, as a part of the alias's requests in the last 10 s. */
const retryShare = 0.2;
/** Aliases remembered; a pattern's names come from callers. At the bound the oldest is forgotten. */
export const aliasesMax = 10_000;

/**
 * Keeps an outage from being multiplied: further attempts at targets that hardly ever answer share this budget, and so
 * do second attempts beside slow ones.
 */
export interface RetryBudget {
  /** A request begins. */
  requested(alias: string, nowMs: number): void;
  /** Takes one further attempt; false when the alias has none left just now. */
  take(alias: string, nowMs: number): boolean;
  /** Takes one second attempt beside a slow one, of `share` (0 to 1) of the requests; one is always allowed. */
  takeHedge(alias: string, share: number, nowMs: number): boolean;
}

interface AliasCounts {
  requests: RollingCount;
  retries: RollingCount;
  hedges: RollingCount;
}

/** One budget for each alias, counted over the last 10 s. */
export function createRetryBudget(): RetryBudget {
  const aliases = new Map<string, AliasCounts>();

  function countsOf(alias: string): AliasCounts {
    let counts = aliases.get(alias);
    if (counts === undefined) {
      if (aliases.size >= aliasesMax) aliases.delete(aliases.keys().next().value!);
      counts = {
        requests: new RollingCount(bucketMs, windowBuckets),
        retries: new RollingCount(bucketMs, windowBuckets),
        hedges: new RollingCount(bucketMs, windowBuckets),
      };
      aliases.set(alias, counts);
    }
    return counts;
  }

  return {
    requested(alias, nowMs) {
      countsOf(alias).requests.add(nowMs);
    },
    take(alias, nowMs) {
      const { requests, retries } = countsOf(alias);
      if (retries.total(nowMs) + 1 > retryShare * requests.total(nowMs)) return false;
      retries.add(nowMs);
      return true;
    },
    takeHedge(alias, share, nowMs) {
      const { requests, hedges } = countsOf(alias);
      if (hedges.total(nowMs) + 1 > Math.max(1, share * requests.total(nowMs))) return false;
      hedges.add(nowMs);
      return true;
    },
  };
}

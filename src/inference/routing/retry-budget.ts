import { RollingCount } from './rolling-count.ts';

const bucketMs = 1_000;
const windowBuckets = 10;
/** Second failovers and beyond, as a part of the alias's requests in the last 10 s. */
const retryShare = 0.2;
/** So many are always allowed, or a quiet alias could never try a third target. */
const retriesMinPerSecond = 3;
/** Aliases remembered; a pattern's names come from callers. At the bound the oldest is forgotten. */
export const aliasesMax = 10_000;

/** Keeps an outage from being multiplied: every request may fail over once, further attempts share this budget. */
export interface RetryBudget {
  /** A request begins. */
  requested(alias: string, nowMs: number): void;
  /** Takes one further attempt; false when the alias has none left just now. */
  take(alias: string, nowMs: number): boolean;
}

interface AliasCounts {
  requests: RollingCount;
  retries: RollingCount;
}

/** One budget an alias, counted over the last 10 s. */
export function createRetryBudget(): RetryBudget {
  const aliases = new Map<string, AliasCounts>();

  function countsOf(alias: string): AliasCounts {
    let counts = aliases.get(alias);
    if (counts === undefined) {
      if (aliases.size >= aliasesMax) aliases.delete(aliases.keys().next().value!);
      counts = {
        requests: new RollingCount(bucketMs, windowBuckets),
        retries: new RollingCount(bucketMs, windowBuckets),
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
      const allowed = Math.max(retriesMinPerSecond * windowBuckets, retryShare * requests.total(nowMs));
      if (retries.total(nowMs) + 1 > allowed) return false;
      retries.add(nowMs);
      return true;
    },
  };
}

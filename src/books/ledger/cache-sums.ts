import { hourMs } from '../../kernel/clock.ts';
import { type Column, columnsOf, type FieldOf, fieldOf, type UsageEvent } from './columns.ts';

/** Sums of an hour; `saved_nano` is of kept answers, `prompt_saved_nano` of providers' caches. */
const sumNames = [
  'hits',
  'semantic_hits',
  'misses',
  'saved_nano',
  'prompt_requests',
  'cached_input_tokens',
  'cache_write_tokens',
  'prompt_saved_nano',
] as const;

type Sums = Record<FieldOf<(typeof sumNames)[number]>, number>;

/** One row of `cache_sum`: what caches did in an hour for one account and model. */
export interface CacheSumRow extends Sums {
  hour: number;
  account: string;
  alias: string;
}

export const cacheSumKey: readonly Column[] = columnsOf([
  ['hour', 'whole'],
  ['account', 'text'],
  ['alias', 'text'],
]);
export const cacheSums: readonly Column[] = columnsOf(sumNames.map((name) => [name, 'whole']));
export const cacheSumTable: readonly Column[] = [...cacheSumKey, ...cacheSums];

const noSums = Object.fromEntries(sumNames.map((name) => [fieldOf(name), 0])) as Sums;
const nanoPerUsd = 1e9;

/** Whether a cache had a part in it: all others add nothing. */
export function usesCache({ cache, cachedInputTokens, cacheWriteTokens }: UsageEvent): boolean {
  return cache !== null || cachedInputTokens + cacheWriteTokens > 0;
}

/** Sums of these requests for the hours of `cache_sum`. */
export function cacheSumsOf(events: readonly UsageEvent[]): CacheSumRow[] {
  const rows = new Map<string, CacheSumRow>();
  for (const event of events) {
    const { account, alias, cache } = event;
    const hour = Math.floor(event.atMs / hourMs);
    const name = JSON.stringify([hour, account, alias]);
    const row = rows.get(name) ?? { ...noSums, hour, account, alias };
    rows.set(name, row);
    const savedNano = Math.round((event.savedUsd ?? 0) * nanoPerUsd);
    if (cache === 'hit') row.hits += 1;
    else if (cache === 'semantic') row.semanticHits += 1;
    else if (cache !== null) row.misses += 1;
    if (cache !== null && cache !== 'miss') row.savedNano += savedNano;
    // A kept answer asked no provider.
    else if (event.cachedInputTokens + event.cacheWriteTokens > 0) {
      row.promptRequests += 1;
      row.cachedInputTokens += event.cachedInputTokens;
      row.cacheWriteTokens += event.cacheWriteTokens;
      row.promptSavedNano += savedNano;
    }
  }
  return [...rows.values()];
}

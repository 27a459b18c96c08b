import type { CacheUseQuery, CacheUses, PromptCacheDay } from '../../books/metering/ledger.ts';
import type { Marks } from './ledger-filters.ts';

const dayMs = 24 * 3_600_000;
const usesPromptCache = 'cached_input_tokens + cache_write_tokens > 0';

/** The index that keeps the sums cheap; a request of a model without a cache is not in it. For both databases. */
export function cacheUseIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_cache ON ${schema}usage_event (at_ms) WHERE cache IS NOT NULL`;
}

/** The query's statement in both databases. */
export function cacheUseSql(query: CacheUseQuery, marks: Marks, schema: '' | 'culvert.'): string {
  return `SELECT alias, sum(CASE WHEN cache = 'hit' THEN 1 ELSE 0 END) AS exact,
      sum(CASE WHEN cache = 'semantic' THEN 1 ELSE 0 END) AS semantic,
      sum(CASE WHEN cache = 'miss' THEN 1 ELSE 0 END) AS misses,
      sum(CASE WHEN cache <> 'miss' THEN coalesce(saved_usd, 0) ELSE 0 END) AS saved_usd
    FROM ${schema}usage_event WHERE cache IS NOT NULL AND ${conditions(query, marks)} GROUP BY alias ORDER BY alias`;
}

/** A row of that statement. */
export function cacheUsesOf(row: Readonly<Record<string, unknown>>): CacheUses {
  return {
    model: String(row.alias),
    hits: Number(row.exact) + Number(row.semantic),
    semanticHits: Number(row.semantic),
    misses: Number(row.misses),
    savedUsd: Number(row.saved_usd),
  };
}

/** Keeps the days cheap: a request that read and wrote nothing is not in it. For both databases. */
export function promptCacheIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_prompt_cache ON ${schema}usage_event (at_ms) WHERE ${usesPromptCache}`;
}

/** The statement of `promptCacheDays` in both databases. A kept answer asked no provider: it does not count. */
export function promptCacheDaySql(query: CacheUseQuery, marks: Marks, schema: '' | 'culvert.'): string {
  return `SELECT at_ms / ${dayMs} AS day, count(*) AS requests, sum(cached_input_tokens) AS cached_input_tokens,
      sum(cache_write_tokens) AS cache_write_tokens, sum(coalesce(saved_usd, 0)) AS saved_usd
    FROM ${schema}usage_event
    WHERE ${usesPromptCache} AND coalesce(cache, 'miss') = 'miss' AND ${conditions(query, marks)} GROUP BY 1 ORDER BY 1`;
}

/** A row of that statement. */
export function promptCacheDayOf(row: Readonly<Record<string, unknown>>): PromptCacheDay {
  return {
    day: new Date(Number(row.day) * dayMs).toISOString().slice(0, 10),
    requests: Number(row.requests),
    cachedInputTokens: Number(row.cached_input_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    savedUsd: Number(row.saved_usd),
  };
}

function conditions({ accounts, model, fromMs, toMs }: CacheUseQuery, marks: Marks): string {
  const all = [`at_ms >= ${marks.of(fromMs)} AND at_ms < ${marks.of(toMs)}`];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  if (model !== undefined) all.push(`alias = ${marks.of(model)}`);
  return all.join(' AND ');
}

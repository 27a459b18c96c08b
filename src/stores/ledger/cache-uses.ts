import type { CacheUseQuery, CacheUses } from '../../books/metering/ledger.ts';
import type { Marks } from './ledger-filters.ts';

/** The index that keeps the sums cheap; a request of a model without a cache is not in it. For both databases. */
export function cacheUseIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_cache ON ${schema}usage_event (at_ms) WHERE cache IS NOT NULL`;
}

/** The query's statement in both databases. */
export function cacheUseSql({ accounts, fromMs, toMs }: CacheUseQuery, marks: Marks, schema: '' | 'culvert.'): string {
  const where = [`cache IS NOT NULL AND at_ms >= ${marks.of(fromMs)} AND at_ms < ${marks.of(toMs)}`];
  if (accounts !== null) where.push(marks.oneOf('account', accounts));
  return `SELECT alias, sum(CASE WHEN cache = 'hit' THEN 1 ELSE 0 END) AS exact,
      sum(CASE WHEN cache = 'semantic' THEN 1 ELSE 0 END) AS semantic,
      sum(CASE WHEN cache = 'miss' THEN 1 ELSE 0 END) AS misses,
      sum(CASE WHEN cache <> 'miss' THEN coalesce(saved_usd, 0) ELSE 0 END) AS saved_usd
    FROM ${schema}usage_event WHERE ${where.join(' AND ')} GROUP BY alias ORDER BY alias`;
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

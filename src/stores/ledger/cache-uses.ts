import type { CacheUseQuery, CacheUses, PromptCacheDay } from '../../books/metering/ledger.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import type { Marks } from './ledger-filters.ts';

const usesPromptCache = 'cached_input_tokens + cache_write_tokens > 0';

/** The index that keeps the sums cheap; a request of a model without a cache is not in it. For both databases. */
export function cacheUseIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_cache ON ${schema}usage_event (at_ms) WHERE cache IS NOT NULL`;
}

/** Share of one request in each sum, as in `cacheSumsOf`. */
const savedNano = 'CAST(round(coalesce(saved_usd, 0) * 1e9) AS BIGINT)';
const ofCached: Readonly<Record<string, string>> = {
  hits: `CASE WHEN cache = 'hit' THEN 1 ELSE 0 END`,
  semantic_hits: `CASE WHEN cache = 'semantic' THEN 1 ELSE 0 END`,
  misses: `CASE WHEN cache = 'miss' THEN 1 ELSE 0 END`,
  saved_nano: `CASE WHEN coalesce(cache, 'miss') <> 'miss' THEN ${savedNano} ELSE 0 END`,
};
const isPrompt = `${usesPromptCache} AND coalesce(cache, 'miss') = 'miss'`;
const promptShare = (amount: string) => `CASE WHEN ${isPrompt} THEN ${amount} ELSE 0 END`;
const ofPrompt: Readonly<Record<string, string>> = {
  prompt_requests: promptShare('1'),
  cached_input_tokens: promptShare('cached_input_tokens'),
  cache_write_tokens: promptShare('cache_write_tokens'),
  prompt_saved_nano: promptShare(savedNano),
};

/** Fills the hours of the past, for the migration that made them. */
export function cacheSumsOfPast(schema: '' | 'culvert.'): string {
  const shares = Object.entries({ ...ofCached, ...ofPrompt });
  return `INSERT INTO ${schema}cache_sum (hour, account, alias, ${shares.map(([name]) => name).join(', ')})
    SELECT at_ms / ${hourMs}, account, alias, ${shares.map(([, share]) => `CAST(sum(${share}) AS BIGINT)`).join(', ')}
    FROM ${schema}usage_event WHERE cache IS NOT NULL OR ${usesPromptCache} GROUP BY 1, 2, 3;`;
}

/** Sums of whole hours, and of the requests before the first and behind the last of them, as rows of one statement. */
function rowsOver(
  query: CacheUseQuery,
  marks: Marks,
  schema: '' | 'culvert.',
  shares: Readonly<Record<string, string>>,
  isCounted: string,
): string {
  const { fromMs, toMs } = query;
  const [from, to] = [Math.ceil(fromMs / hourMs), Math.floor(toMs / hourMs)];
  const names = Object.keys(shares);
  const requests = (startMs: number, endMs: number) => `SELECT at_ms / ${hourMs} AS hour, alias,
      ${names.map((name) => `${shares[name]} AS ${name}`).join(', ')} FROM ${schema}usage_event
      WHERE ${isCounted} AND ${conditions(query, marks, 'at_ms', startMs, endMs)}`;
  if (from >= to) return requests(fromMs, toMs);
  const parts = [
    `SELECT hour, alias, ${names.join(', ')} FROM ${schema}cache_sum WHERE ${conditions(query, marks, 'hour', from, to)}`,
  ];
  if (fromMs < from * hourMs) parts.push(requests(fromMs, from * hourMs));
  if (to * hourMs < toMs) parts.push(requests(to * hourMs, toMs));
  return parts.join(' UNION ALL ');
}

/** The query's statement in both databases. */
export function cacheUseSql(query: CacheUseQuery, marks: Marks, schema: '' | 'culvert.'): string {
  const rows = rowsOver(query, marks, schema, ofCached, 'cache IS NOT NULL');
  return `SELECT alias, CAST(sum(hits) AS BIGINT) AS exact, CAST(sum(semantic_hits) AS BIGINT) AS semantic,
      CAST(sum(misses) AS BIGINT) AS misses, CAST(sum(saved_nano) AS BIGINT) AS saved_nano
    FROM (${rows}) AS parts GROUP BY alias HAVING sum(hits + semantic_hits + misses) > 0 ORDER BY alias`;
}

/** A row of that statement. */
export function cacheUsesOf(row: Readonly<Record<string, unknown>>): CacheUses {
  return {
    model: String(row.alias),
    hits: Number(row.exact) + Number(row.semantic),
    semanticHits: Number(row.semantic),
    misses: Number(row.misses),
    savedUsd: Number(row.saved_nano) / 1e9,
  };
}

/** Keeps the days cheap: a request that read and wrote nothing is not in it. For both databases. */
export function promptCacheIndex(schema: '' | 'culvert.'): string {
  return `CREATE INDEX usage_event_prompt_cache ON ${schema}usage_event (at_ms) WHERE ${usesPromptCache}`;
}

/** The statement of `promptCacheDays` in both databases. A kept answer asked no provider: it does not count. */
export function promptCacheDaySql(query: CacheUseQuery, marks: Marks, schema: '' | 'culvert.'): string {
  const rows = rowsOver(query, marks, schema, ofPrompt, isPrompt);
  const sums = Object.keys(ofPrompt).map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`);
  return `SELECT hour / 24 AS day, ${sums.join(', ')} FROM (${rows}) AS parts GROUP BY 1
    HAVING sum(prompt_requests) > 0 ORDER BY 1`;
}

/** A row of that statement. */
export function promptCacheDayOf(row: Readonly<Record<string, unknown>>): PromptCacheDay {
  return {
    day: new Date(Number(row.day) * dayMs).toISOString().slice(0, 10),
    requests: Number(row.prompt_requests),
    cachedInputTokens: Number(row.cached_input_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    savedUsd: Number(row.prompt_saved_nano) / 1e9,
  };
}

function conditions(
  { accounts, model }: CacheUseQuery,
  marks: Marks,
  time: 'hour' | 'at_ms',
  from: number,
  to: number,
): string {
  const all = [`${time} >= ${marks.of(from)} AND ${time} < ${marks.of(to)}`];
  if (accounts !== null) all.push(marks.oneOf('account', accounts));
  if (model !== undefined) all.push(`alias = ${marks.of(model)}`);
  return all.join(' AND ');
}

import { usageRowsMax } from '../../kernel/limits.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '../../metering/ledger.ts';
import type { Run } from './database.ts';

const hourMs = 3_600_000;
const hoursPerDay = 24;
const nanoPerUsd = 1e9;

/** See the port's `usage`. */
export async function readUsage(run: Run, query: UsageQuery): Promise<UsageRow[]> {
  const { rows } = await run<UsageColumns>(query.groupBy === 'user' ? byUser : byRollup(query.groupBy), [
    query.account,
    query.groupBy === 'user' ? query.fromMs : Math.floor(query.fromMs / hourMs),
    query.groupBy === 'user' ? query.toMs : Math.ceil(query.toMs / hourMs),
    usageRowsMax,
  ]);
  const usage = rows.map((row) => ({
    group: query.groupBy === 'day' ? dayOf(Number(row.group)) : row.group,
    requests: row.requests,
    milliUnits: row.cost_milli,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.usd_nano / nanoPerUsd,
    errors: row.errors,
    countedTokens: row.counted_tokens,
    estimatedTokens: row.estimated_tokens,
    countedCostUsd: row.counted_usd_nano / nanoPerUsd,
    estimatedCostUsd: row.estimated_usd_nano / nanoPerUsd,
  }));
  return query.groupBy === 'day' ? usage.toSorted((a, b) => (a.group < b.group ? -1 : 1)) : usage;
}

interface UsageColumns {
  group: string;
  requests: number;
  errors: number;
  cost_milli: number;
  input_tokens: number;
  output_tokens: number;
  usd_nano: number;
  counted_tokens: number;
  estimated_tokens: number;
  counted_usd_nano: number;
  estimated_usd_nano: number;
}

function dayOf(day: number): string {
  return new Date(day * hoursPerDay * hourMs).toISOString().slice(0, 10);
}

const groupColumn: Readonly<Record<Exclude<UsageGroup, 'user'>, string>> = {
  day: `(hour / ${hoursPerDay})::text`,
  model: 'alias',
  account: 'account',
  endpoint: 'endpoint',
  provider: 'provider',
  key: 'key_id',
};

function byRollup(groupBy: Exclude<UsageGroup, 'user'>): { name: string; text: string } {
  const sums = [
    'requests',
    'errors',
    'cost_milli',
    'input_tokens',
    'output_tokens',
    'usd_nano',
    'counted_tokens',
    'estimated_tokens',
    'counted_usd_nano',
    'estimated_usd_nano',
  ];
  return {
    name: `usage-by-${groupBy}`,
    text: `
      SELECT ${groupColumn[groupBy]} AS "group", ${sums.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')}
      FROM culvert.rollup
      WHERE ($1::text IS NULL OR account = $1) AND hour >= $2 AND hour < $3
      GROUP BY 1 ORDER BY cost_milli DESC, 1 LIMIT $4`,
  };
}

const ofSource = (amount: string, source: 'counted' | 'estimated') =>
  `coalesce(sum(${amount}) FILTER (WHERE usage_source = '${source}'), 0)::bigint`;
const tokens = 'input_tokens + output_tokens';
const usdNano = 'round(coalesce(cost_usd, 0) * 1e9)::bigint';

const byUser = {
  name: 'usage-by-user',
  text: `
    SELECT coalesce("user", '') AS "group", count(*) AS requests, count(*) FILTER (WHERE class <> 'ok') AS errors,
      sum(cost_milli)::bigint AS cost_milli, sum(input_tokens)::bigint AS input_tokens,
      sum(output_tokens)::bigint AS output_tokens, sum(${usdNano})::bigint AS usd_nano,
      ${ofSource(tokens, 'counted')} AS counted_tokens, ${ofSource(tokens, 'estimated')} AS estimated_tokens,
      ${ofSource(usdNano, 'counted')} AS counted_usd_nano, ${ofSource(usdNano, 'estimated')} AS estimated_usd_nano
    FROM culvert.usage_event
    WHERE ($1::text IS NULL OR account = $1) AND at_ms >= $2 AND at_ms < $3 AND usage_source <> 'refused'
    GROUP BY 1 ORDER BY cost_milli DESC, 1 LIMIT $4`,
};

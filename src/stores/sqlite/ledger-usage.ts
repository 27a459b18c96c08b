import { usageRowsMax } from '../../kernel/limits.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '../../metering/ledger.ts';
import type { Database } from './database.ts';
import { ledgerKeyAt } from './ledger-writer.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const idSlackMs = 60_000;
/** Events summed between two breaths: about 10 ms. */
const sliceRows = 10_000;

const sumsOf = `sum(requests) AS requests, sum(cost_milli) AS cost_milli, sum(input_tokens) AS input_tokens,
  sum(output_tokens) AS output_tokens, sum(usd_nano) / 1e9 AS cost_usd, sum(errors) AS errors,
  sum(counted_tokens) AS counted_tokens, sum(estimated_tokens) AS estimated_tokens,
  sum(counted_usd_nano) / 1e9 AS counted_cost_usd, sum(estimated_usd_nano) / 1e9 AS estimated_cost_usd`;

const groupColumn: Readonly<Record<Exclude<UsageGroup, 'user'>, string>> = {
  // Whole days since 1970, UTC.
  day: 'hour / 24',
  model: 'alias',
  account: 'account',
  endpoint: 'endpoint',
  provider: 'provider',
  key: 'key_id',
};

/** The port's `usage`: from roll-ups, by user from single requests. */
export async function sumUsage(
  database: Database,
  query: UsageQuery,
  breathe: () => Promise<void>,
): Promise<UsageRow[]> {
  const { account, groupBy } = query;
  if (groupBy === 'user') return sumByUser(database, query, breathe);
  const from = Math.floor(query.fromMs / hourMs);
  const to = Math.ceil(query.toMs / hourMs);
  const column = groupColumn[groupBy];
  const ofAccount = account === null ? '' : 'AND account = ?';
  const rows = database
    .prepare(
      `SELECT ${column} AS name, ${sumsOf} FROM rollup WHERE hour >= ? AND hour < ? ${ofAccount}
       GROUP BY name ORDER BY sum(cost_milli) DESC, name LIMIT ${usageRowsMax}`,
    )
    .all(from, to, ...(account === null ? [] : [account]));
  if (groupBy !== 'day') return rows.map((row) => rowOf(String(row.name), row));
  return rows
    .toSorted((a, b) => Number(a.name) - Number(b.name))
    .map((row) => rowOf(new Date(Number(row.name) * dayMs).toISOString().slice(0, 10), row));
}

const tokens = 'input_tokens + output_tokens';
const usdNano = 'CAST(round(coalesce(cost_usd, 0) * 1e9) AS INTEGER)';
const ofSource = (amount: string, source: 'counted' | 'estimated') =>
  `sum(iif(usage_source = '${source}', ${amount}, 0))`;

/** Callers choose what they send as `user`: there may be millions, so they are summed in a file, not in memory. */
async function sumByUser(database: Database, query: UsageQuery, breathe: () => Promise<void>): Promise<UsageRow[]> {
  const { account, fromMs, toMs } = query;
  const table = `user_sum_${++sumsMade}`;
  database.exec(
    `CREATE TEMP TABLE ${table} (name TEXT PRIMARY KEY, requests INTEGER, cost_milli INTEGER, input_tokens INTEGER,
     output_tokens INTEGER, usd_nano INTEGER, errors INTEGER, counted_tokens INTEGER, estimated_tokens INTEGER,
     counted_usd_nano INTEGER, estimated_usd_nano INTEGER) STRICT, WITHOUT ROWID`,
  );
  try {
    const sliceEnd = database.prepare(
      `SELECT key FROM usage_event WHERE key >= ? AND key < ? ORDER BY key LIMIT 1 OFFSET ${sliceRows}`,
    );
    const add = database.prepare(
      `INSERT INTO ${table}
       SELECT coalesce(user, ''), count(*), sum(cost_milli), sum(input_tokens), sum(output_tokens),
         sum(${usdNano}), sum(class <> 'ok'), ${ofSource(tokens, 'counted')}, ${ofSource(tokens, 'estimated')},
         ${ofSource(usdNano, 'counted')}, ${ofSource(usdNano, 'estimated')}
       FROM usage_event WHERE key >= ? AND key < ? AND at_ms >= ? AND at_ms < ?
         AND usage_source <> 'refused' ${account === null ? '' : 'AND account = ?'}
       GROUP BY 1
       ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, cost_milli = cost_milli + excluded.cost_milli,
         input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
         usd_nano = usd_nano + excluded.usd_nano, errors = errors + excluded.errors,
         counted_tokens = counted_tokens + excluded.counted_tokens,
         estimated_tokens = estimated_tokens + excluded.estimated_tokens,
         counted_usd_nano = counted_usd_nano + excluded.counted_usd_nano,
         estimated_usd_nano = estimated_usd_nano + excluded.estimated_usd_nano`,
    );
    const until = Math.max(0, ledgerKeyAt(toMs + idSlackMs));
    let at: number | null = Math.max(0, ledgerKeyAt(fromMs - idSlackMs));
    while (at !== null) {
      const end: unknown = sliceEnd.get(at, until)?.key;
      const high: number = end === undefined ? until : Number(end);
      add.run(at, high, fromMs, toMs, ...(account === null ? [] : [account]));
      at = end === undefined ? null : high;
      await breathe();
    }
    const rows = database
      .prepare(
        `SELECT name, ${sumsOf} FROM ${table} GROUP BY name ORDER BY sum(cost_milli) DESC, name LIMIT ${usageRowsMax}`,
      )
      .all();
    return rows.map((row) => rowOf(String(row.name), row));
  } finally {
    database.exec(`DROP TABLE ${table}`);
  }
}

/** Two may run in turns. */
let sumsMade = 0;

function rowOf(group: string, row: Record<string, unknown>): UsageRow {
  return {
    group,
    requests: Number(row.requests),
    milliUnits: Number(row.cost_milli),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    costUsd: Number(row.cost_usd),
    errors: Number(row.errors),
    countedTokens: Number(row.counted_tokens),
    estimatedTokens: Number(row.estimated_tokens),
    countedCostUsd: Number(row.counted_cost_usd),
    estimatedCostUsd: Number(row.estimated_cost_usd),
  };
}

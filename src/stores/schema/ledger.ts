import { firstTokenBins, totalBins } from '../../books/ledger/minute-sums.ts';
import { firstSumColumns } from '../ledger/day-sums.ts';
import type { Ddl } from './ddl.ts';

/*
 * What both databases have of the books. Their keys differ: SQLite's is a number made of the request id, PostgreSQL's the
 * id itself; and SQLite got in its second step what PostgreSQL had in its first.
 */

/** Columns of `reservation`, behind its key. */
export const reservationColumns: Ddl = `
    boot_id TEXT NOT NULL,
    at_ms WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    alias TEXT NOT NULL,
    cost_milli WHOLE NOT NULL,
    input_tokens_estimate WHOLE NOT NULL`;

/** Units that an event counts and an hour sums. */
const unitColumns: Ddl = `input_tokens WHOLE NOT NULL, output_tokens WHOLE NOT NULL, cached_input_tokens WHOLE NOT NULL,
    reasoning_tokens WHOLE NOT NULL, characters WHOLE NOT NULL, audio_ms WHOLE NOT NULL, images WHOLE NOT NULL`;

/** Columns of `usage_event`, behind its key. */
export const eventColumns: Ddl = `
    client_request_id TEXT,
    at_ms WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    alias TEXT NOT NULL,
    target TEXT,
    status INTEGER NOT NULL,
    class TEXT NOT NULL,
    stream INTEGER NOT NULL,
    aborted INTEGER NOT NULL,
    ms WHOLE NOT NULL,
    first_token_ms WHOLE,
    ${unitColumns},
    cost_milli WHOLE NOT NULL,
    cost_usd REAL,
    usage_source TEXT NOT NULL,
    "user" TEXT,
    -- JSON.
    route TEXT NOT NULL`;

/** Written only for callers who send an id. */
export const clientIndex: Ddl = `
  CREATE INDEX usage_event_client ON @usage_event (client_request_id, account) WHERE client_request_id IS NOT NULL;`;

export const bootTable: Ddl = `
  CREATE TABLE @boot (id TEXT PRIMARY KEY, seen_ms WHOLE NOT NULL) KEYED;`;

export const bucketTables: Ddl = `
  -- Settled use as the rolling windows count it (metering/counter-scope.ts bucketsOf). Minutes live 5 hours, hours 30 days.
  CREATE TABLE @quota_bucket (
    scope TEXT NOT NULL,
    grain_ms WHOLE NOT NULL,
    bucket WHOLE NOT NULL,
    units WHOLE NOT NULL,
    tokens WHOLE NOT NULL,
    usd_nano WHOLE NOT NULL,
    PRIMARY KEY (scope, grain_ms, bucket)
  ) REWRITTEN;
  -- Kept for ever, so everything is summed that an event counts. The hour is that of arrival.
  CREATE TABLE @rollup (
    hour WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    alias TEXT NOT NULL,
    -- Of the attempt that answered; '' when none did.
    provider TEXT NOT NULL,
    requests WHOLE NOT NULL,
    errors WHOLE NOT NULL,
    cost_milli WHOLE NOT NULL,
    ${unitColumns},
    usd_nano WHOLE NOT NULL,
    PRIMARY KEY (hour, account, key_id, endpoint, alias, provider)
  ) REWRITTEN;`;

/** How much of a roll-up was counted or estimated here. */
export const usageSourceColumns: Ddl = `
  ALTER TABLE @rollup ADD COLUMN counted_tokens WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @rollup ADD COLUMN estimated_tokens WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @rollup ADD COLUMN counted_usd_nano WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @rollup ADD COLUMN estimated_usd_nano WHOLE NOT NULL DEFAULT 0;`;

/** The same for hours before, of the requests that are still kept. `provider`: SQL for that of `target`. */
export function usageSourcesOfPast(provider: string): Ddl {
  const sumOf = (of: 'tokens' | 'usd_nano', source: 'counted' | 'estimated') =>
    `sum(CASE usage_source WHEN '${source}' THEN ${of} ELSE 0 END) AS ${source}_${of}`;
  return `
    UPDATE @rollup SET
      counted_tokens = ours.counted_tokens, estimated_tokens = ours.estimated_tokens,
      counted_usd_nano = ours.counted_usd_nano, estimated_usd_nano = ours.estimated_usd_nano
    FROM (
      SELECT at_ms / 3600000 AS hour, account, key_id, endpoint, alias, coalesce(${provider}, '') AS provider,
        ${sumOf('tokens', 'counted')}, ${sumOf('tokens', 'estimated')},
        ${sumOf('usd_nano', 'counted')}, ${sumOf('usd_nano', 'estimated')}
      FROM (
        SELECT *, input_tokens + output_tokens AS tokens, CAST(round(coalesce(cost_usd, 0) * 1e9) AS WHOLE) AS usd_nano
        FROM @usage_event WHERE usage_source IN ('counted', 'estimated')
      ) AS known
      GROUP BY 1, 2, 3, 4, 5, 6
    ) AS ours
    WHERE rollup.hour = ours.hour AND rollup.account = ours.account AND rollup.key_id = ours.key_id
      AND rollup.endpoint = ours.endpoint AND rollup.alias = ours.alias AND rollup.provider = ours.provider;`;
}

export const tagColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN tag TEXT;';

/** For pages that draw it (ledger/minute-sums.ts). The bins are counts of durations. */
export const trafficTable: Ddl = `
  CREATE TABLE @traffic (
    grain_ms WHOLE NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    bucket WHOLE NOT NULL,
    requests WHOLE NOT NULL,
    errors WHOLE NOT NULL,
    cost_milli WHOLE NOT NULL,
    input_tokens WHOLE NOT NULL,
    output_tokens WHOLE NOT NULL,
    usd_nano WHOLE NOT NULL,
    ${[...firstTokenBins, ...totalBins].map((bin) => `${bin} INTEGER NOT NULL DEFAULT 0`).join(', ')},
    PRIMARY KEY (grain_ms, kind, name, bucket)
  ) REWRITTEN;`;

export const dayTables: Ddl = `
  -- Hours of days that are over, added up, and by whom callers named (ledger/day-sums.ts). Kept for ever.
  CREATE TABLE @rollup_day (
    day WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    alias TEXT NOT NULL,
    provider TEXT NOT NULL,
    ${firstSumColumns('WHOLE')},
    PRIMARY KEY (day, account, key_id, endpoint, alias, provider)
  ) KEYED;
  CREATE TABLE @rollup_name (
    day WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    alias TEXT NOT NULL,
    "user" TEXT NOT NULL,
    tag TEXT NOT NULL,
    ${firstSumColumns('WHOLE')},
    PRIMARY KEY (day, account, key_id, alias, "user", tag)
  ) KEYED;
  -- The end of the last day that is added up; at most one row.
  CREATE TABLE @summed (one INTEGER PRIMARY KEY CHECK (one = 1), until_ms WHOLE NOT NULL) ROWS;`;

export const videoSecondsColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN video_seconds WHOLE NOT NULL DEFAULT 0;';
export const savedUsdColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN saved_usd REAL;';
export const cacheWriteColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN cache_write_tokens WHOLE NOT NULL DEFAULT 0;';
export const variantColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN variant TEXT;';
export const cacheColumn: Ddl = 'ALTER TABLE @usage_event ADD COLUMN cache TEXT;';

export const furtherScopeColumns: Ddl = `
  ALTER TABLE @reservation ADD COLUMN further_scopes TEXT;
  ALTER TABLE @usage_event ADD COLUMN further_scopes TEXT;`;

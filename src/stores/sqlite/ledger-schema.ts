import { firstTokenBins, totalBins } from '../../books/ledger/traffic.ts';
import { cacheSumsOfPast, cacheUseIndex, promptCacheIndex } from '../ledger/cache-uses.ts';
import { firstSumColumns, nameTablesSql } from '../ledger/day-sums.ts';
import { refusedIndex, sessionColumn } from '../ledger/ledger-filters.ts';
import { trafficOfPast } from '../ledger/traffic-of-past.ts';
import { unpricedOfPast } from '../ledger/unpriced-of-past.ts';
import type { Migration } from '../migration.ts';
import { attemptSumTable } from '../schema/attempts.ts';
import { cacheSumDdl } from '../schema/cache-sums.ts';
import { sqliteDdl } from '../schema/ddl.ts';
import { feedbackTable, variantStateTable } from '../schema/experiments.ts';
import { repricingDdl } from '../schema/repricing.ts';
import { statementDdl } from '../schema/statements.ts';
import { type Database, openDatabase } from './database.ts';
import { migrateKept } from './migrations.ts';
import { recordOrderSql } from './record-order.ts';

const sumColumns = firstSumColumns('INTEGER');

/**
 * `ledger.db`. Keys are not counters: they are made of the request id (see ledger-writer.ts), so that a lookup by id, a
 * range of time and retention all go by the rowid without an index.
 */
export const ledgerMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'reservations, usage events, attempts',
    sql: `
      CREATE TABLE reservation (
        key INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        tenant TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        alias TEXT NOT NULL,
        cost_milli INTEGER NOT NULL,
        input_tokens_estimate INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE usage_event (
        key INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL,
        client_request_id TEXT,
        at_ms INTEGER NOT NULL,
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
        ms INTEGER NOT NULL,
        first_token_ms INTEGER,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cached_input_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        audio_ms INTEGER NOT NULL,
        images INTEGER NOT NULL,
        cost_milli INTEGER NOT NULL,
        cost_usd REAL,
        usage_source TEXT NOT NULL,
        user TEXT,
        route TEXT NOT NULL
      ) STRICT;
      -- Written only for callers who send an id of their own.
      CREATE INDEX usage_event_client ON usage_event (client_request_id, account) WHERE client_request_id IS NOT NULL;
      CREATE TABLE attempt (
        event INTEGER NOT NULL,
        number INTEGER NOT NULL,
        target TEXT NOT NULL,
        credential TEXT NOT NULL,
        class TEXT NOT NULL,
        status INTEGER,
        ms INTEGER NOT NULL,
        first_token_ms INTEGER,
        bytes INTEGER NOT NULL,
        input_tokens INTEGER,
        output_tokens INTEGER,
        -- JSON of all counts, where there are more than those two.
        usage TEXT,
        usage_source TEXT NOT NULL,
        cost_usd REAL,
        message TEXT,
        PRIMARY KEY (event, number)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE boot (id TEXT PRIMARY KEY, seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 2,
    name: 'quota buckets, roll-ups, attempts with their event',
    sql: `
      ALTER TABLE reservation ADD COLUMN tier TEXT;
      ALTER TABLE reservation ADD COLUMN quota_ms INTEGER NOT NULL DEFAULT 0;
      UPDATE reservation SET quota_ms = at_ms;
      ALTER TABLE usage_event ADD COLUMN tier TEXT;
      ALTER TABLE usage_event ADD COLUMN quota_ms INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE usage_event ADD COLUMN settled_ms INTEGER NOT NULL DEFAULT 0;
      -- JSON, one array an attempt (ledger/columns.ts): a row of its own cost 3 µs a request.
      ALTER TABLE usage_event ADD COLUMN attempts TEXT NOT NULL DEFAULT '[]';
      UPDATE usage_event SET quota_ms = at_ms, settled_ms = at_ms + ms, attempts = (
        SELECT json_group_array(json_array(target, credential, class, status, ms, first_token_ms, bytes,
          CASE WHEN usage IS NOT NULL THEN json(usage)
            WHEN input_tokens IS NOT NULL THEN json_object('inputTokens', input_tokens, 'outputTokens', output_tokens)
          END, usage_source, cost_usd, message) ORDER BY number)
        FROM attempt WHERE event = usage_event.key);
      DROP TABLE attempt;
      -- Settled use as the rolling windows count it (metering/scope.ts bucketsOf). Minutes live 5 hours, hours 30 days.
      CREATE TABLE quota_bucket (
        scope TEXT NOT NULL,
        grain_ms INTEGER NOT NULL,
        bucket INTEGER NOT NULL,
        units INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        usd_nano INTEGER NOT NULL,
        PRIMARY KEY (scope, grain_ms, bucket)
      ) STRICT, WITHOUT ROWID;
      -- Kept for ever, so everything is summed that an event counts. The hour is that of arrival.
      CREATE TABLE rollup (
        hour INTEGER NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        alias TEXT NOT NULL,
        -- Of the attempt that answered; '' when none did.
        provider TEXT NOT NULL,
        requests INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        cost_milli INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cached_input_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        audio_ms INTEGER NOT NULL,
        images INTEGER NOT NULL,
        usd_nano INTEGER NOT NULL,
        PRIMARY KEY (hour, account, key_id, endpoint, alias, provider)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO quota_bucket
        SELECT scope, grain_ms, at_ms / grain_ms, sum(cost_milli), sum(input_tokens + output_tokens),
          sum(CAST(round(coalesce(cost_usd, 0) * 1e9) AS INTEGER))
        FROM (SELECT 'a:' || account AS scope, * FROM usage_event UNION ALL SELECT 'k:' || tenant, * FROM usage_event),
          (SELECT 60000 AS grain_ms UNION ALL SELECT 3600000)
        WHERE at_ms > unixepoch() * 1000 - 2595600000
        GROUP BY 1, 2, 3;
      INSERT INTO rollup
        SELECT at_ms / 3600000, account, key_id, endpoint, alias,
          coalesce(substr(target, 1, instr(target, '/') - 1), ''), count(*), sum(class <> 'ok'), sum(cost_milli),
          sum(input_tokens), sum(output_tokens), sum(cached_input_tokens), sum(reasoning_tokens), sum(characters),
          sum(audio_ms), sum(images), sum(CAST(round(coalesce(cost_usd, 0) * 1e9) AS INTEGER))
        FROM usage_event
        GROUP BY 1, 2, 3, 4, 5, 6;
    `,
  },
  {
    version: 3,
    name: 'what was counted or estimated, in roll-ups',
    sql: `
      ALTER TABLE rollup ADD COLUMN counted_tokens INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE rollup ADD COLUMN estimated_tokens INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE rollup ADD COLUMN counted_usd_nano INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE rollup ADD COLUMN estimated_usd_nano INTEGER NOT NULL DEFAULT 0;
      -- For hours before, of the requests that are still kept.
      UPDATE rollup SET
        counted_tokens = ours.counted_tokens, estimated_tokens = ours.estimated_tokens,
        counted_usd_nano = ours.counted_usd_nano, estimated_usd_nano = ours.estimated_usd_nano
      FROM (
        SELECT at_ms / 3600000 AS hour, account, key_id, endpoint, alias,
          coalesce(substr(target, 1, instr(target, '/') - 1), '') AS provider,
          sum(iif(usage_source = 'counted', tokens, 0)) AS counted_tokens,
          sum(iif(usage_source = 'estimated', tokens, 0)) AS estimated_tokens,
          sum(iif(usage_source = 'counted', usd_nano, 0)) AS counted_usd_nano,
          sum(iif(usage_source = 'estimated', usd_nano, 0)) AS estimated_usd_nano
        FROM (
          SELECT *, input_tokens + output_tokens AS tokens,
            CAST(round(coalesce(cost_usd, 0) * 1e9) AS INTEGER) AS usd_nano
          FROM usage_event WHERE usage_source IN ('counted', 'estimated')
        )
        GROUP BY 1, 2, 3, 4, 5, 6
      ) AS ours
      WHERE rollup.hour = ours.hour AND rollup.account = ours.account AND rollup.key_id = ours.key_id
        AND rollup.endpoint = ours.endpoint AND rollup.alias = ours.alias AND rollup.provider = ours.provider;
    `,
  },
  {
    version: 4,
    name: 'tags, traffic by minute and hour, sums by day',
    sql: `
      ALTER TABLE usage_event ADD COLUMN tag TEXT;
      -- For pages that draw it (ledger/traffic.ts). The bins are counts of durations.
      CREATE TABLE traffic (
        grain_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        bucket INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        cost_milli INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        usd_nano INTEGER NOT NULL,
        ${[...firstTokenBins, ...totalBins].map((bin) => `${bin} INTEGER NOT NULL DEFAULT 0`).join(', ')},
        PRIMARY KEY (grain_ms, kind, name, bucket)
      ) STRICT, WITHOUT ROWID;
      ${trafficOfPast('')}
      -- Hours of days that are over, added up, and by whom callers named (ledger/day-sums.ts). Kept for ever.
      CREATE TABLE rollup_day (
        day INTEGER NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        alias TEXT NOT NULL,
        provider TEXT NOT NULL,
        ${sumColumns},
        PRIMARY KEY (day, account, key_id, endpoint, alias, provider)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE rollup_name (
        day INTEGER NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        alias TEXT NOT NULL,
        user TEXT NOT NULL,
        tag TEXT NOT NULL,
        ${sumColumns},
        PRIMARY KEY (day, account, key_id, alias, user, tag)
      ) STRICT, WITHOUT ROWID;
      -- The end of the last day that is added up; at most one row.
      CREATE TABLE summed (one INTEGER PRIMARY KEY CHECK (one = 1), until_ms INTEGER NOT NULL) STRICT;
    `,
  },
  {
    version: 5,
    name: 'sums by day of users and of tags',
    sql: nameTablesSql('', 'INTEGER', 'STRICT, WITHOUT ROWID'),
  },
  {
    version: 6,
    name: 'order of records and positions of sinks',
    sql: recordOrderSql,
  },
  {
    version: 7,
    name: 'seconds of videos',
    sql: 'ALTER TABLE usage_event ADD COLUMN video_seconds INTEGER NOT NULL DEFAULT 0',
  },
  {
    version: 8,
    name: 'what answers from the cache saved',
    sql: 'ALTER TABLE usage_event ADD COLUMN saved_usd REAL',
  },
  {
    version: 9,
    name: "tokens written to providers' caches",
    sql: 'ALTER TABLE usage_event ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0',
  },
  {
    version: 10,
    name: 'variants of models',
    sql: 'ALTER TABLE usage_event ADD COLUMN variant TEXT',
  },
  {
    version: 11,
    name: 'what caches of models did',
    sql: `ALTER TABLE usage_event ADD COLUMN cache TEXT; ${cacheUseIndex('')}`,
  },
  { version: 12, name: 'feedback to requests', sql: sqliteDdl(feedbackTable) },
  { version: 13, name: 'variants that were taken out', sql: sqliteDdl(variantStateTable) },
  { version: 14, name: "sums of providers' caches", sql: promptCacheIndex('') },
  { version: 15, name: 'refused requests in lists', sql: refusedIndex('') },
  { version: 16, name: 'sums of attempts', sql: sqliteDdl(attemptSumTable) },
  { version: 17, name: 'sums of caches', sql: `${sqliteDdl(cacheSumDdl)} ${cacheSumsOfPast('')}` },
  { version: 18, name: 'requests without a price, in sums', sql: unpricedOfPast('') },
  {
    version: 19,
    name: 'budgets within accounts',
    sql: `
      ALTER TABLE reservation ADD COLUMN further_scopes TEXT;
      ALTER TABLE usage_event ADD COLUMN further_scopes TEXT;
    `,
  },
  { version: 20, name: 'recalculations', sql: sqliteDdl(repricingDdl) },
  { version: 21, name: 'closed statements', sql: sqliteDdl(statementDdl) },
  { version: 22, name: 'sessions of requests', sql: sessionColumn('', 'key') },
];

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;
/**
 * A commit writes whole pages, mostly two or three, so small ones are cheaper (bench/ledger/row-cost.ts: at one open a
 * commit 20 µs a request where 4,096 bytes cost 22.5, at four 11.7 and 12.4); with 1,024 long rows spill.
 */
const pageBytes = 2_048;

/** Opens or creates `ledger.db`, brought up to date; every commit is durable. */
export function openLedgerDatabase(file: string): Database {
  const database = openDatabase(file, 'fsync', migrationBusyTimeoutMs, pageBytes);
  try {
    migrateKept(database, ledgerMigrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

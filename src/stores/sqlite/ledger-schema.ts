import { cacheSumsOfPast, cacheUseIndex, promptCacheIndex } from '../ledger/cache-uses.ts';
import { hourDdl, nameTablesSql, narrowDdl } from '../ledger/day-sums.ts';
import { refusedIndex, sessionColumn } from '../ledger/ledger-filters.ts';
import { trafficOfPast } from '../ledger/traffic-of-past.ts';
import { unpricedOfPast } from '../ledger/unpriced-of-past.ts';
import type { Migration } from '../migration.ts';
import { attemptSumTable } from '../schema/attempts.ts';
import { cacheSumDdl } from '../schema/cache-sums.ts';
import { sqliteDdl } from '../schema/ddl.ts';
import { feedbackTable, variantStateTable } from '../schema/experiments.ts';
import * as ledger from '../schema/ledger.ts';
import { repricingDdl } from '../schema/repricing.ts';
import { statementDdl } from '../schema/statements.ts';
import type { Database } from './database.ts';
import { migrateWithCopy, openMigrated } from './migrations.ts';
import { recordOrderSql } from './record-order.ts';

/**
 * `ledger.db`. Keys are not counters: they are made of the request id (see ledger-writer.ts), so that a lookup by id, a
 * range of time and retention all go by the rowid without an index.
 */
export const ledgerMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'reservations, usage events, attempts',
    sql: sqliteDdl(
      `CREATE TABLE reservation (key INTEGER PRIMARY KEY, request_id TEXT NOT NULL, ${ledger.reservationColumns}) STRICT;
      CREATE TABLE usage_event (key INTEGER PRIMARY KEY, request_id TEXT NOT NULL, ${ledger.eventColumns}) STRICT;`,
      ledger.clientIndex,
      `
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
      `,
      ledger.bootTable,
    ),
  },
  {
    version: 2,
    name: 'quota buckets, roll-ups, attempts with their event',
    sql: sqliteDdl(
      `
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
      `,
      ledger.bucketTables,
      `
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
    ),
  },
  {
    version: 3,
    name: 'what was counted or estimated, in roll-ups',
    sql: sqliteDdl(ledger.usageSourceColumns, ledger.usageSourcesOfPast(`substr(target, 1, instr(target, '/') - 1)`)),
  },
  {
    version: 4,
    name: 'tags, traffic by minute and hour, sums by day',
    sql: sqliteDdl(ledger.tagColumn, ledger.trafficTable, trafficOfPast(''), ledger.dayTables),
  },
  { version: 5, name: 'sums by day of users and of tags', sql: nameTablesSql('', 'INTEGER', 'STRICT, WITHOUT ROWID') },
  { version: 6, name: 'order of records and positions of sinks', sql: recordOrderSql },
  { version: 7, name: 'seconds of videos', sql: sqliteDdl(ledger.videoSecondsColumn) },
  { version: 8, name: 'what answers from the cache saved', sql: sqliteDdl(ledger.savedUsdColumn) },
  { version: 9, name: "tokens written to providers' caches", sql: sqliteDdl(ledger.cacheWriteColumn) },
  { version: 10, name: 'variants of models', sql: sqliteDdl(ledger.variantColumn) },
  { version: 11, name: 'what caches of models did', sql: sqliteDdl(ledger.cacheColumn, cacheUseIndex('')) },
  { version: 12, name: 'feedback to requests', sql: sqliteDdl(feedbackTable) },
  { version: 13, name: 'variants that were taken out', sql: sqliteDdl(variantStateTable) },
  { version: 14, name: "sums of providers' caches", sql: promptCacheIndex('') },
  { version: 15, name: 'refused requests in lists', sql: refusedIndex('') },
  { version: 16, name: 'sums of attempts', sql: sqliteDdl(attemptSumTable) },
  { version: 17, name: 'sums of caches', sql: `${sqliteDdl(cacheSumDdl)} ${cacheSumsOfPast('')}` },
  { version: 18, name: 'requests without a price, in sums', sql: unpricedOfPast('') },
  { version: 19, name: 'budgets within accounts', sql: sqliteDdl(ledger.furtherScopeColumns) },
  { version: 20, name: 'recalculations', sql: sqliteDdl(repricingDdl) },
  { version: 21, name: 'closed statements', sql: sqliteDdl(statementDdl) },
  { version: 22, name: 'sessions of requests', sql: sessionColumn('', 'key') },
  { version: 23, name: 'narrow sums by day', sql: sqliteDdl(narrowDdl) },
  { version: 24, name: 'sums by hour of users and of tags', sql: sqliteDdl(hourDdl) },
];

/**
 * A commit writes whole pages, mostly two or three, so small ones are cheaper (bench/ledger/row-cost.ts: at one open a
 * commit 20 µs a request where 4,096 bytes cost 22.5, at four 11.7 and 12.4); with 1,024 long rows spill.
 */
const pageBytes = 2_048;

/** Opens or creates `ledger.db`, brought up to date; every commit is durable. */
export function openLedgerDatabase(file: string): Database {
  return openMigrated(file, 'fsync', (database) => migrateWithCopy(database, ledgerMigrations), pageBytes);
}

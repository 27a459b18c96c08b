import { rollupSums } from '../../ledger/batch-sums.ts';
import { firstTokenBins, totalBins } from '../../ledger/traffic.ts';
import { nameTablesSql } from '../day-sums.ts';
import type { Migration } from '../migration.ts';
import { trafficOfPast } from '../traffic-of-past.ts';

/**
 * The tables that SQLite keeps in ledger.db. The key is our request id, a UUIDv7: in the C collation its order is that
 * of time, so a lookup, a page, a range of time and retention all use the primary key.
 */
export const ledgerMigration: Migration = {
  version: 2,
  name: 'reservations, usage events, quota buckets, roll-ups',
  sql: `
    CREATE TABLE culvert.reservation (
      request_id TEXT COLLATE "C" PRIMARY KEY,
      boot_id TEXT NOT NULL,
      at_ms BIGINT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      tenant TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      alias TEXT NOT NULL,
      cost_milli BIGINT NOT NULL,
      input_tokens_estimate BIGINT NOT NULL,
      tier TEXT,
      quota_ms BIGINT NOT NULL
    );
    CREATE INDEX reservation_account ON culvert.reservation (account);
    CREATE TABLE culvert.usage_event (
      request_id TEXT COLLATE "C" PRIMARY KEY,
      client_request_id TEXT,
      at_ms BIGINT NOT NULL,
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
      ms BIGINT NOT NULL,
      first_token_ms BIGINT,
      input_tokens BIGINT NOT NULL,
      output_tokens BIGINT NOT NULL,
      cached_input_tokens BIGINT NOT NULL,
      reasoning_tokens BIGINT NOT NULL,
      characters BIGINT NOT NULL,
      audio_ms BIGINT NOT NULL,
      images BIGINT NOT NULL,
      cost_milli BIGINT NOT NULL,
      cost_usd DOUBLE PRECISION,
      usage_source TEXT NOT NULL,
      "user" TEXT,
      -- JSON, as in SQLite.
      route TEXT NOT NULL,
      tier TEXT,
      quota_ms BIGINT NOT NULL,
      settled_ms BIGINT NOT NULL,
      attempts TEXT NOT NULL
    );
    CREATE INDEX usage_event_account ON culvert.usage_event (account, request_id);
    -- Written only for callers who send an id of their own.
    CREATE INDEX usage_event_client ON culvert.usage_event (client_request_id, account)
      WHERE client_request_id IS NOT NULL;
    CREATE TABLE culvert.boot (id TEXT PRIMARY KEY, seen_ms BIGINT NOT NULL);
    -- Settled use as the rolling windows count it (metering/scope.ts bucketsOf). Written over and over: free space on
    -- each page keeps those updates off the index.
    CREATE TABLE culvert.quota_bucket (
      scope TEXT NOT NULL,
      grain_ms BIGINT NOT NULL,
      bucket BIGINT NOT NULL,
      units BIGINT NOT NULL,
      tokens BIGINT NOT NULL,
      usd_nano BIGINT NOT NULL,
      PRIMARY KEY (scope, grain_ms, bucket)
    ) WITH (fillfactor = 70);
    -- Kept for ever, so everything is summed that an event counts. The hour is that of arrival.
    CREATE TABLE culvert.rollup (
      hour BIGINT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      alias TEXT NOT NULL,
      -- Of the attempt that answered; '' when none did.
      provider TEXT NOT NULL,
      requests BIGINT NOT NULL,
      errors BIGINT NOT NULL,
      cost_milli BIGINT NOT NULL,
      input_tokens BIGINT NOT NULL,
      output_tokens BIGINT NOT NULL,
      cached_input_tokens BIGINT NOT NULL,
      reasoning_tokens BIGINT NOT NULL,
      characters BIGINT NOT NULL,
      audio_ms BIGINT NOT NULL,
      images BIGINT NOT NULL,
      usd_nano BIGINT NOT NULL,
      PRIMARY KEY (hour, account, key_id, endpoint, alias, provider)
    ) WITH (fillfactor = 70);
    CREATE INDEX rollup_account ON culvert.rollup (account, hour);
  `,
};

/** How much of a roll-up no upstream told: for hours before, of the requests that are still kept. */
export const usageSourceMigration: Migration = {
  version: 11,
  name: 'what was counted or estimated, in roll-ups',
  sql: `
    ALTER TABLE culvert.rollup
      ADD COLUMN counted_tokens BIGINT NOT NULL DEFAULT 0,
      ADD COLUMN estimated_tokens BIGINT NOT NULL DEFAULT 0,
      ADD COLUMN counted_usd_nano BIGINT NOT NULL DEFAULT 0,
      ADD COLUMN estimated_usd_nano BIGINT NOT NULL DEFAULT 0;
    UPDATE culvert.rollup SET
      counted_tokens = ours.counted_tokens, estimated_tokens = ours.estimated_tokens,
      counted_usd_nano = ours.counted_usd_nano, estimated_usd_nano = ours.estimated_usd_nano
    FROM (
      SELECT at_ms / 3600000 AS hour, account, key_id, endpoint, alias,
        coalesce(split_part(target, '/', 1), '') AS provider,
        coalesce(sum(input_tokens + output_tokens) FILTER (WHERE usage_source = 'counted'), 0) AS counted_tokens,
        coalesce(sum(input_tokens + output_tokens) FILTER (WHERE usage_source = 'estimated'), 0) AS estimated_tokens,
        coalesce(sum(round(coalesce(cost_usd, 0) * 1e9)) FILTER (WHERE usage_source = 'counted'), 0) AS counted_usd_nano,
        coalesce(sum(round(coalesce(cost_usd, 0) * 1e9)) FILTER (WHERE usage_source = 'estimated'), 0)
          AS estimated_usd_nano
      FROM culvert.usage_event WHERE usage_source IN ('counted', 'estimated')
      GROUP BY 1, 2, 3, 4, 5, 6
    ) AS ours
    WHERE rollup.hour = ours.hour AND rollup.account = ours.account AND rollup.key_id = ours.key_id
      AND rollup.endpoint = ours.endpoint AND rollup.alias = ours.alias AND rollup.provider = ours.provider;
  `,
};

const sumColumns = rollupSums.map(({ name }) => `${name} BIGINT NOT NULL`).join(', ');

/** See SQLite's. */
export const trafficMigration: Migration = {
  version: 15,
  name: 'tags, traffic by minute and hour, sums by day',
  sql: `
    ALTER TABLE culvert.usage_event ADD COLUMN tag TEXT;
    CREATE TABLE culvert.traffic (
      grain_ms BIGINT NOT NULL,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      bucket BIGINT NOT NULL,
      requests BIGINT NOT NULL,
      errors BIGINT NOT NULL,
      cost_milli BIGINT NOT NULL,
      input_tokens BIGINT NOT NULL,
      output_tokens BIGINT NOT NULL,
      usd_nano BIGINT NOT NULL,
      ${[...firstTokenBins, ...totalBins].map((bin) => `${bin} INTEGER NOT NULL DEFAULT 0`).join(', ')},
      PRIMARY KEY (grain_ms, kind, name, bucket)
    ) WITH (fillfactor = 70);
    ${trafficOfPast('culvert.')}
    CREATE TABLE culvert.rollup_day (
      day BIGINT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      alias TEXT NOT NULL,
      provider TEXT NOT NULL,
      ${sumColumns},
      PRIMARY KEY (day, account, key_id, endpoint, alias, provider)
    );
    CREATE TABLE culvert.rollup_name (
      day BIGINT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      alias TEXT NOT NULL,
      "user" TEXT NOT NULL,
      tag TEXT NOT NULL,
      ${sumColumns},
      PRIMARY KEY (day, account, key_id, alias, "user", tag)
    );
    CREATE TABLE culvert.summed (one INTEGER PRIMARY KEY CHECK (one = 1), until_ms BIGINT NOT NULL);
  `,
};

export const nameTablesMigration: Migration = {
  version: 17,
  name: 'sums by day of users and of tags',
  sql: nameTablesSql('culvert.', 'BIGINT', ''),
};

export const recordOrderMigration: Migration = {
  version: 18,
  name: 'order of records and positions of sinks',
  sql: `
    -- Its one row is locked until a commit ends: positions become visible in their order, whichever replica writes.
    CREATE TABLE culvert.record_sequence (one INTEGER PRIMARY KEY CHECK (one = 1), position BIGINT NOT NULL);
    INSERT INTO culvert.record_sequence VALUES (1, 0);
    CREATE TABLE culvert.record_order (
      position BIGINT PRIMARY KEY,
      request_id TEXT COLLATE "C" NOT NULL,
      -- JSON, until all sinks have it.
      bodies TEXT
    );
    CREATE TABLE culvert.sink (
      name TEXT PRIMARY KEY,
      position BIGINT NOT NULL,
      seen_ms BIGINT NOT NULL,
      -- The process that sends, until then by the database's clock.
      holder TEXT,
      held_until_ms BIGINT NOT NULL DEFAULT 0
    );
  `,
};

export const videoSecondsMigration: Migration = {
  version: 25,
  name: 'seconds of videos',
  sql: 'ALTER TABLE culvert.usage_event ADD COLUMN video_seconds BIGINT NOT NULL DEFAULT 0',
};

import type { Migration } from './migrations.ts';

/**
 * `ledger.db`. Keys are not counters: they are made of the request id (see ledger-key.ts), so that a lookup by id, a
 * range of time and retention all go by the rowid without an index. Roll-ups and quota buckets come as further
 * migrations.
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
];

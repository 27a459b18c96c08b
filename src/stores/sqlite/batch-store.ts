import type { BatchStore } from '../../metering/batch-store.ts';
import { createBatchStore } from '../batch-store.ts';
import type { Migration } from '../migration.ts';
import { openTables } from './tables.ts';

/** Uploaded files and batches in `batches.db`. A power cut may take the last lines, which are then asked again. */
export function openSqliteBatchStore(options: {
  file: string;
  /** Hears of housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}): BatchStore {
  const { close, ...tables } = openTables({ ...options, noun: 'batches', migrations, waitMaxMs });
  return { ...createBatchStore({ ...tables, skipLocked: '' }), close };
}

/** A checkpoint of what a batch writes may take longer than callers wait for other databases. */
const waitMaxMs = 10_000;

/** `batches.db`. A file of its own: it may grow to many GB, and its writes would hold up those of accounts. */
const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'files and batches',
    sql: `
      CREATE TABLE stored_file (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        purpose TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        facts BLOB NOT NULL,
        complete INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX stored_file_tenant ON stored_file (tenant, id);
      CREATE INDEX stored_file_expiry ON stored_file (expires_ms);
      -- Not WITHOUT ROWID: a chunk is up to a megabyte.
      CREATE TABLE file_chunk (
        file TEXT NOT NULL,
        seq INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (file, seq)
      ) STRICT;
      CREATE TABLE batch (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        format TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        input_file TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        deadline_ms INTEGER NOT NULL,
        facts BLOB NOT NULL,
        ending TEXT,
        total INTEGER,
        succeeded INTEGER NOT NULL DEFAULT 0,
        errored INTEGER NOT NULL DEFAULT 0,
        counted_ms INTEGER,
        cancelling_ms INTEGER,
        finalizing_ms INTEGER,
        ended_ms INTEGER,
        expires_ms INTEGER,
        output_file TEXT,
        error_file TEXT,
        worker TEXT,
        lease_until_ms INTEGER NOT NULL DEFAULT 0,
        has_lines INTEGER NOT NULL DEFAULT 1
      ) STRICT;
      CREATE INDEX batch_tenant ON batch (tenant, id);
      CREATE INDEX batch_open ON batch (lease_until_ms) WHERE ended_ms IS NULL;
      CREATE INDEX batch_expiry ON batch (expires_ms);
      CREATE TABLE batch_line (
        batch TEXT NOT NULL,
        seq INTEGER NOT NULL,
        request_id TEXT NOT NULL,
        -- Digest of its custom_id; null: it has none.
        key TEXT,
        state TEXT NOT NULL,
        result BLOB,
        bytes INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (batch, seq),
        UNIQUE (batch, key)
      ) STRICT;
    `,
  },
  {
    version: 2,
    name: 'lines at providers',
    sql: `
      ALTER TABLE batch ADD COLUMN expected_tokens INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE batch ADD COLUMN expected_usd_nano INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE batch ADD COLUMN ahead_succeeded INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE batch_line ADD COLUMN part INTEGER;
    `,
  },
];

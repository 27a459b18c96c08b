import type { BatchStore } from '../../metering/batch-store.ts';
import { createBatchStore } from '../batch-store.ts';
import type { Migration } from '../migration.ts';
import type { Database } from './database.ts';
import { tablesIn } from './tables.ts';

/** Uploaded files and batches, shared by all replicas. */
export function createPostgresBatchStore(database: Pick<Database, 'rest'>): BatchStore {
  const tables = createBatchStore({ ...tablesIn(database), skipLocked: 'FOR UPDATE SKIP LOCKED' });
  return { ...tables, close: async () => undefined };
}

/** What SQLite keeps in batches.db. No backup of PostgreSQL's tables holds them. */
export const batchMigration: Migration = {
  version: 21,
  name: 'files and batches',
  sql: `
    CREATE TABLE culvert.stored_file (
      id TEXT COLLATE "C" PRIMARY KEY,
      tenant TEXT NOT NULL,
      purpose TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      created_ms BIGINT NOT NULL,
      expires_ms BIGINT NOT NULL,
      facts BYTEA NOT NULL,
      complete INTEGER NOT NULL
    );
    CREATE INDEX stored_file_tenant ON culvert.stored_file (tenant, id);
    CREATE INDEX stored_file_expiry ON culvert.stored_file (expires_ms);
    CREATE TABLE culvert.file_chunk (
      file TEXT NOT NULL,
      seq INTEGER NOT NULL,
      content BYTEA NOT NULL,
      PRIMARY KEY (file, seq)
    );
    CREATE TABLE culvert.batch (
      id TEXT COLLATE "C" PRIMARY KEY,
      tenant TEXT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      format TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      input_file TEXT NOT NULL,
      created_ms BIGINT NOT NULL,
      deadline_ms BIGINT NOT NULL,
      facts BYTEA NOT NULL,
      ending TEXT,
      total BIGINT,
      succeeded BIGINT NOT NULL DEFAULT 0,
      errored BIGINT NOT NULL DEFAULT 0,
      counted_ms BIGINT,
      cancelling_ms BIGINT,
      finalizing_ms BIGINT,
      ended_ms BIGINT,
      expires_ms BIGINT,
      output_file TEXT,
      error_file TEXT,
      worker TEXT,
      lease_until_ms BIGINT NOT NULL DEFAULT 0,
      has_lines INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX batch_tenant ON culvert.batch (tenant, id);
    CREATE INDEX batch_open ON culvert.batch (lease_until_ms) WHERE ended_ms IS NULL;
    CREATE INDEX batch_expiry ON culvert.batch (expires_ms);
    CREATE TABLE culvert.batch_line (
      batch TEXT NOT NULL,
      seq BIGINT NOT NULL,
      request_id TEXT NOT NULL,
      key TEXT,
      state TEXT NOT NULL,
      result BYTEA,
      bytes BIGINT NOT NULL DEFAULT 0,
      PRIMARY KEY (batch, seq),
      UNIQUE (batch, key)
    );
  `,
};

/** Lines of batches that are at a provider. */
export const awayLinesMigration: Migration = {
  version: 24,
  name: 'lines of batches at providers',
  sql: `
    ALTER TABLE culvert.batch ADD COLUMN expected_tokens BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE culvert.batch ADD COLUMN expected_usd_nano BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE culvert.batch ADD COLUMN ahead_succeeded BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE culvert.batch_line ADD COLUMN part BIGINT;
  `,
};

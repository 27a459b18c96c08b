import type { ResponseStore } from '../../metering/response-store.ts';
import type { Migration } from '../migration.ts';
import { createResponseStore } from '../response-store.ts';
import { bootIsOver } from './boots.ts';
import type { Database } from './database.ts';
import { tablesIn } from './tables.ts';

/** Kept responses and conversations, shared by all replicas. */
export function createPostgresResponseStore(database: Pick<Database, 'rest'>): ResponseStore {
  return { ...createResponseStore({ ...tablesIn(database), bootIsOver }), close: async () => undefined };
}

/** What SQLite keeps in responses.db. No backup of PostgreSQL's tables holds them. */
export const responseMigration: Migration = {
  version: 20,
  name: 'responses and conversations',
  sql: `
    CREATE TABLE culvert.response (
      tenant TEXT NOT NULL,
      id TEXT NOT NULL,
      previous TEXT,
      conversation TEXT,
      status TEXT NOT NULL,
      boot_id TEXT,
      created_ms BIGINT NOT NULL,
      expires_ms BIGINT NOT NULL,
      input BYTEA NOT NULL,
      answer BYTEA NOT NULL,
      events BYTEA,
      PRIMARY KEY (tenant, id)
    );
    CREATE INDEX response_expiry ON culvert.response (expires_ms);
    CREATE TABLE culvert.conversation (
      tenant TEXT NOT NULL,
      id TEXT NOT NULL,
      created_ms BIGINT NOT NULL,
      expires_ms BIGINT NOT NULL,
      metadata BYTEA NOT NULL,
      PRIMARY KEY (tenant, id)
    );
    CREATE INDEX conversation_expiry ON culvert.conversation (expires_ms);
    CREATE TABLE culvert.conversation_item (
      tenant TEXT NOT NULL,
      conversation TEXT NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      item BYTEA NOT NULL,
      PRIMARY KEY (tenant, conversation, seq),
      UNIQUE (tenant, conversation, id)
    );
  `,
};

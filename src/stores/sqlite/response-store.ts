import type { ResponseStore } from '../../metering/response-store.ts';
import type { Migration } from '../migration.ts';
import { createResponseStore } from '../response-store.ts';
import { openTables } from './tables.ts';

/**
 * Kept responses and conversations in `responses.db`. One server a folder: whatever runs under another boot than
 * `bootId` runs no more. A power cut may take the last ones; no turn of the loop waits for the disk.
 */
export function openSqliteResponseStore(options: {
  file: string;
  bootId: string;
  /** Hears of housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}): ResponseStore {
  const { file, bootId, onTrouble } = options;
  const { close, ...tables } = openTables({ file, noun: 'responses', migrations, onTrouble });
  const bootIsOver = (column: string) => `${column} <> '${bootId}'`;
  return { ...createResponseStore({ ...tables, bootIsOver }), close };
}

/** `responses.db`. A file of its own: it may grow to many GB, and its writes would hold up those of accounts. */
const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'responses and conversations',
    sql: `
      -- Not WITHOUT ROWID: what is sealed may be megabytes.
      CREATE TABLE response (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        previous TEXT,
        conversation TEXT,
        status TEXT NOT NULL,
        -- The process in which it runs; null: it has ended.
        boot_id TEXT,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        input BLOB NOT NULL,
        answer BLOB NOT NULL,
        events BLOB,
        PRIMARY KEY (tenant, id)
      ) STRICT;
      CREATE INDEX response_expiry ON response (expires_ms);
      CREATE TABLE conversation (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        metadata BLOB NOT NULL,
        PRIMARY KEY (tenant, id)
      ) STRICT;
      CREATE INDEX conversation_expiry ON conversation (expires_ms);
      CREATE TABLE conversation_item (
        tenant TEXT NOT NULL,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        item BLOB NOT NULL,
        PRIMARY KEY (tenant, conversation, seq),
        UNIQUE (tenant, conversation, id)
      ) STRICT;
    `,
  },
];

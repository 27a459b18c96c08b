import type { Migration } from './migrations.ts';

/** Tables of culvert.db as Kysely sees them. Times in wall-clock ms, lists as JSON text. */
export interface CulvertTables {
  account: AccountTable;
  api_key: KeyTable;
  store_version: { one: number; version: number };
}

export interface AccountTable {
  id: string;
  name: string;
  plan: string;
  status: 'active' | 'suspended';
  created_ms: number;
}

export interface KeyTable {
  id: string;
  account: string;
  name: string;
  prefix: string;
  hash: string;
  kind: 'user' | 'admin';
  expires_ms: number | null;
  models: string | null;
  created_ms: number;
  revoked_ms: number | null;
}

export const culvertMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts and keys',
    sql: `
      CREATE TABLE account (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        plan TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('active', 'suspended')),
        created_ms INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account (id),
        name TEXT NOT NULL,
        prefix TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('user', 'admin')),
        expires_ms INTEGER,
        models TEXT,
        created_ms INTEGER NOT NULL,
        revoked_ms INTEGER
      ) STRICT;
      -- account/name owns vector data: two living keys of one name would share it unasked.
      CREATE UNIQUE INDEX api_key_identity ON api_key (account, name) WHERE revoked_ms IS NULL;
      -- Raised in every transaction that writes, so that other processes see that something changed.
      CREATE TABLE store_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT;
      INSERT INTO store_version VALUES (1, 1);
    `,
  },
];

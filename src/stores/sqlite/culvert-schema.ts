import type { Migration } from '../migration.ts';
import { type Database, type Durability, openDatabase } from './database.ts';
import { migrateKept } from './migrations.ts';

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;

/** Opens or creates `culvert.db`, brought up to date. A caller that finds it locked tries again (`transaction`). */
export function openCulvertDatabase(file: string, durability: Durability): Database {
  const database = openDatabase(file, durability, migrationBusyTimeoutMs);
  try {
    migrateKept(database, culvertMigrations);
    database.exec('PRAGMA busy_timeout = 0');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
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
  {
    version: 2,
    name: 'secrets by key, plans, audit, replies, notices',
    sql: `
      ALTER TABLE api_key RENAME TO api_key_1;
      DROP INDEX api_key_identity;
      CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account (id),
        name TEXT NOT NULL,
        tenant TEXT NOT NULL,
        prefix TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('user', 'admin')),
        expires_ms INTEGER,
        models TEXT,
        ips TEXT,
        limits TEXT,
        created_ms INTEGER NOT NULL,
        revoked_ms INTEGER
      ) STRICT;
      INSERT INTO api_key (id, account, name, tenant, prefix, kind, expires_ms, models, created_ms, revoked_ms)
        SELECT id, account, name, account || '/' || name, prefix, kind, expires_ms, models, created_ms, revoked_ms
        FROM api_key_1;
      CREATE UNIQUE INDEX api_key_identity ON api_key (account, name) WHERE revoked_ms IS NULL;
      CREATE TABLE api_key_secret (
        hash TEXT PRIMARY KEY,
        key_id TEXT NOT NULL REFERENCES api_key (id),
        until_ms INTEGER
      ) STRICT, WITHOUT ROWID;
      INSERT INTO api_key_secret (hash, key_id) SELECT hash, id FROM api_key_1;
      CREATE INDEX api_key_secret_key ON api_key_secret (key_id);
      DROP TABLE api_key_1;
      CREATE TABLE plan (name TEXT PRIMARY KEY, definition TEXT NOT NULL, updated_ms INTEGER NOT NULL) STRICT;
      CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        before TEXT,
        after TEXT
      ) STRICT;
      -- Idempotency-Key. Not WITHOUT ROWID: a sealed reply may be a megabyte.
      CREATE TABLE reply (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        body_hash TEXT NOT NULL,
        request_id TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        expires_ms INTEGER NOT NULL,
        -- Null while the request runs.
        status INTEGER,
        sealed BLOB,
        PRIMARY KEY (scope, key)
      ) STRICT;
      CREATE INDEX reply_expiry ON reply (expires_ms);
      CREATE TABLE crossing (
        scope TEXT NOT NULL,
        limit_id TEXT NOT NULL,
        share REAL NOT NULL,
        crossed_ms INTEGER NOT NULL,
        PRIMARY KEY (scope, limit_id, share)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE notice (
        id TEXT PRIMARY KEY,
        plan TEXT NOT NULL,
        body TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        -- The next try; while one runs, the end of its lease.
        next_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX notice_due ON notice (next_ms);
    `,
  },
  {
    version: 3,
    name: 'collections of vectors',
    sql: `
      -- Whose collections stand in Qdrant; the embedded engine has files of its own.
      CREATE TABLE vector_collection (
        generation TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        size INTEGER NOT NULL,
        distance TEXT NOT NULL,
        embedding_model TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX vector_collection_name ON vector_collection (tenant, name);
      CREATE INDEX vector_collection_account ON vector_collection (account);
      CREATE TABLE vector_alias (
        tenant TEXT NOT NULL,
        alias TEXT NOT NULL,
        generation TEXT NOT NULL REFERENCES vector_collection (generation) ON DELETE CASCADE,
        PRIMARY KEY (tenant, alias)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX vector_alias_generation ON vector_alias (generation);
      CREATE TABLE vector_index (
        generation TEXT NOT NULL REFERENCES vector_collection (generation) ON DELETE CASCADE,
        key TEXT NOT NULL,
        type TEXT NOT NULL,
        PRIMARY KEY (generation, key)
      ) STRICT, WITHOUT ROWID;
      -- Points of collections that are no more.
      CREATE TABLE vector_deletion (
        generation TEXT PRIMARY KEY,
        size INTEGER NOT NULL,
        distance TEXT NOT NULL,
        dropped_ms INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        -- The next try; while one runs, the end of its lease.
        next_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX vector_deletion_due ON vector_deletion (next_ms);
    `,
  },
  {
    version: 4,
    name: 'objects at providers',
    sql: `
      -- Which tenant was given which id of what lives at a provider, and under which credential.
      CREATE TABLE provider_object (
        id_hash TEXT NOT NULL,
        tenant TEXT NOT NULL,
        target TEXT NOT NULL,
        credential TEXT NOT NULL,
        expires_ms INTEGER NOT NULL,
        PRIMARY KEY (id_hash, tenant)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX provider_object_age ON provider_object (tenant, expires_ms);
      CREATE INDEX provider_object_expiry ON provider_object (expires_ms);
    `,
  },
  {
    version: 5,
    name: 'named vectors',
    sql: `
      -- JSON of a collection's named vectors; null: it has the unnamed one alone.
      ALTER TABLE vector_collection ADD COLUMN named TEXT;
      ALTER TABLE vector_deletion ADD COLUMN named TEXT;
    `,
  },
  {
    version: 6,
    name: 'providers and models set up at run time',
    sql: `
      -- Fragments of culvert.yaml, and the credentials of those that are providers.
      CREATE TABLE kept (
        kind TEXT NOT NULL CHECK (kind IN ('provider', 'model')),
        name TEXT NOT NULL,
        definition TEXT NOT NULL,
        sealed TEXT,
        version INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        updated_by TEXT NOT NULL,
        PRIMARY KEY (kind, name)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE credential (
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        sealed TEXT NOT NULL,
        hint TEXT NOT NULL,
        weight REAL NOT NULL,
        rpm INTEGER,
        created_ms INTEGER NOT NULL,
        created_by TEXT NOT NULL,
        PRIMARY KEY (provider, id)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 7,
    name: 'operators and sessions',
    sql: `
      CREATE TABLE operator (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'viewer', 'billing')),
        -- JSON list; null: all.
        accounts TEXT,
        -- Of its key; null: it has none.
        prefix TEXT,
        hash TEXT UNIQUE,
        -- Of OpenID Connect: who it is to whom.
        issuer TEXT,
        subject TEXT,
        created_ms INTEGER NOT NULL,
        UNIQUE (issuer, subject)
      ) STRICT;
      CREATE TABLE session (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        login TEXT NOT NULL,
        -- Hash of the key that it stands for, or else the operator.
        credential TEXT,
        operator TEXT REFERENCES operator (id) ON DELETE CASCADE,
        address TEXT NOT NULL,
        agent TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        seen_ms INTEGER NOT NULL,
        ends_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX session_end ON session (ends_ms);
      CREATE INDEX session_credential ON session (credential);
      CREATE INDEX session_operator ON session (operator);
      CREATE TABLE login_token (hash TEXT PRIMARY KEY, credential TEXT NOT NULL, ends_ms INTEGER NOT NULL) STRICT;
    `,
  },
  {
    version: 8,
    name: 'settings of collections of vectors',
    sql: `
      -- JSON; null: none.
      ALTER TABLE vector_collection ADD COLUMN settings TEXT;
      -- JSON; null: it was named by its type alone.
      ALTER TABLE vector_index ADD COLUMN params TEXT;
    `,
  },
  {
    version: 9,
    name: 'alerts',
    sql: `
      CREATE TABLE alert (
        name TEXT PRIMARY KEY,
        severity TEXT NOT NULL,
        text TEXT NOT NULL,
        fix TEXT,
        since_ms INTEGER NOT NULL,
        seen_ms INTEGER NOT NULL,
        told TEXT NOT NULL,
        told_ms INTEGER
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 10,
    name: 'MCP servers set up at run time',
    sql: `
      ALTER TABLE kept RENAME TO kept_9;
      CREATE TABLE kept (
        kind TEXT NOT NULL CHECK (kind IN ('provider', 'model', 'mcp')),
        name TEXT NOT NULL,
        definition TEXT NOT NULL,
        sealed TEXT,
        version INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        updated_by TEXT NOT NULL,
        PRIMARY KEY (kind, name)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO kept SELECT * FROM kept_9;
      DROP TABLE kept_9;
    `,
  },
  {
    version: 11,
    name: 'logins at MCP servers',
    sql: `
      CREATE TABLE mcp_grant (
        server TEXT PRIMARY KEY,
        sealed TEXT NOT NULL,
        ended TEXT,
        version INTEGER NOT NULL,
        lease_ms INTEGER NOT NULL,
        login_ms INTEGER NOT NULL,
        login_by TEXT NOT NULL
      ) STRICT;
      CREATE TABLE mcp_login (hash TEXT PRIMARY KEY, sealed TEXT NOT NULL, ends_ms INTEGER NOT NULL) STRICT;
    `,
  },
];

import type { Migration } from '../migration.ts';

/** Operators, and the sessions of the dashboard. */
export const sessionMigration: Migration = {
  version: 14,
  name: 'operators and sessions',
  sql: `
    CREATE TABLE culvert.operator (
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
      created_ms BIGINT NOT NULL,
      UNIQUE (issuer, subject)
    );
    CREATE TABLE culvert.session (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL UNIQUE,
      login TEXT NOT NULL,
      -- Hash of the key that it stands for, or else the operator.
      credential TEXT,
      operator TEXT REFERENCES culvert.operator (id) ON DELETE CASCADE,
      address TEXT NOT NULL,
      agent TEXT NOT NULL,
      created_ms BIGINT NOT NULL,
      seen_ms BIGINT NOT NULL,
      ends_ms BIGINT NOT NULL
    );
    CREATE INDEX session_end ON culvert.session (ends_ms);
    CREATE INDEX session_credential ON culvert.session (credential);
    CREATE INDEX session_operator ON culvert.session (operator);
    CREATE TABLE culvert.login_token (hash TEXT PRIMARY KEY, credential TEXT NOT NULL, ends_ms BIGINT NOT NULL);
  `,
};

export const mcpGrantMigration: Migration = {
  version: 23,
  name: 'logins at MCP servers',
  sql: `
    CREATE TABLE culvert.mcp_grant (
      server TEXT PRIMARY KEY,
      sealed TEXT NOT NULL,
      ended TEXT,
      version BIGINT NOT NULL,
      lease_ms BIGINT NOT NULL,
      login_ms BIGINT NOT NULL,
      login_by TEXT NOT NULL
    );
    CREATE TABLE culvert.mcp_login (hash TEXT PRIMARY KEY, sealed TEXT NOT NULL, ends_ms BIGINT NOT NULL);
  `,
};

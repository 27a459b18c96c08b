import type { Ddl } from './ddl.ts';

export const accountTable: Ddl = `
  CREATE TABLE @account (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'suspended')),
    created_ms WHOLE NOT NULL
  ) ROWS;`;

export const keyTable: Ddl = `
  CREATE TABLE @api_key (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES @account (id),
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    prefix TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'admin')),
    expires_ms WHOLE,
    models TEXT,
    ips TEXT,
    limits TEXT,
    created_ms WHOLE NOT NULL,
    revoked_ms WHOLE
  ) ROWS;`;

/** account/name owns vector data: two living keys of one name would share it unasked. */
export const keyIdentity: Ddl = `
  CREATE UNIQUE INDEX api_key_identity ON @api_key (account, name) WHERE revoked_ms IS NULL;`;

export const secretTable: Ddl = `
  CREATE TABLE @api_key_secret (
    hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL REFERENCES @api_key (id),
    until_ms WHOLE
  ) KEYED;`;

export const secretIndex: Ddl = `
  CREATE INDEX api_key_secret_key ON @api_key_secret (key_id);`;

export const planAndAuditTables: Ddl = `
  CREATE TABLE @plan (name TEXT PRIMARY KEY, definition TEXT NOT NULL, updated_ms WHOLE NOT NULL) ROWS;
  CREATE TABLE @audit (
    id COUNTER,
    at_ms WHOLE NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT
  ) ROWS;`;

/** Raised in every transaction that writes, so that other processes see that something changed. */
export const storeVersion: Ddl = `
  CREATE TABLE @store_version (one INTEGER PRIMARY KEY CHECK (one = 1), version WHOLE NOT NULL) ROWS;
  INSERT INTO @store_version VALUES (1, 1);`;

/** Fragments of culvert.yaml, and the credentials of those that are providers. */
export const entryTables: Ddl = `
  CREATE TABLE @kept (
    kind TEXT NOT NULL CHECK (kind IN ('provider', 'model')),
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    sealed TEXT,
    version WHOLE NOT NULL,
    created_ms WHOLE NOT NULL,
    updated_ms WHOLE NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (kind, name)
  ) KEYED;
  CREATE TABLE @credential (
    provider TEXT NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT NOT NULL,
    hint TEXT NOT NULL,
    weight REAL NOT NULL,
    rpm WHOLE,
    created_ms WHOLE NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (provider, id)
  ) KEYED;`;

/** Names of guards as a JSON list; null: none. */
export const guardColumns: Ddl = `
  ALTER TABLE @account ADD COLUMN guards TEXT;
  ALTER TABLE @api_key ADD COLUMN guards TEXT;`;

/** Tags of keys as a JSON list; null: none. */
export const keyTagsColumn: Ddl = `
  ALTER TABLE @api_key ADD COLUMN tags TEXT;`;

/** Addresses that keys were used from. */
export const keyPlaceTable: Ddl = `
  CREATE TABLE @key_place (
    key_id TEXT NOT NULL,
    address TEXT NOT NULL,
    requests WHOLE NOT NULL,
    first_ms WHOLE NOT NULL,
    last_ms WHOLE NOT NULL,
    PRIMARY KEY (key_id, address)
  ) KEYED;`;

/** The extra budget of an account as JSON; null: none. */
export const extraBudgetColumn: Ddl = `
  ALTER TABLE @account ADD COLUMN extra_budget TEXT;`;

/** Budgets within an account as JSON; null: none. */
export const budgetsColumn: Ddl = `
  ALTER TABLE @account ADD COLUMN budgets TEXT;`;

/** The data rule of an account as JSON; null: none. */
export const dataRuleColumn: Ddl = `
  ALTER TABLE @account ADD COLUMN data TEXT;`;

/** Credit of accounts: what was ever added, in nano-USD; null: an account has none. The account has the sum. */
export const creditTable: Ddl = `
  ALTER TABLE @account ADD COLUMN credit_nano WHOLE;
  CREATE TABLE @credit (
    account TEXT NOT NULL REFERENCES @account (id),
    id TEXT NOT NULL,
    usd_nano WHOLE NOT NULL,
    note TEXT NOT NULL,
    actor TEXT NOT NULL,
    at_ms WHOLE NOT NULL,
    PRIMARY KEY (account, id)
  ) KEYED;`;

/** Operators, and the sessions of the dashboard. */
export const sessionTables: Ddl = `
  CREATE TABLE @operator (
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
    created_ms WHOLE NOT NULL,
    UNIQUE (issuer, subject)
  ) ROWS;
  CREATE TABLE @session (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    login TEXT NOT NULL,
    -- Hash of the key that it stands for, or else the operator.
    credential TEXT,
    operator TEXT REFERENCES @operator (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    seen_ms WHOLE NOT NULL,
    ends_ms WHOLE NOT NULL
  ) ROWS;
  CREATE INDEX session_end ON @session (ends_ms);
  CREATE INDEX session_credential ON @session (credential);
  CREATE INDEX session_operator ON @session (operator);
  CREATE TABLE @login_token (hash TEXT PRIMARY KEY, credential TEXT NOT NULL, ends_ms WHOLE NOT NULL) ROWS;`;

/** Hashes of assertions that have logged a browser in, until they end. */
export const usedAssertionTable: Ddl =
  'CREATE TABLE @used_assertion (hash TEXT PRIMARY KEY, ends_ms WHOLE NOT NULL) ROWS;';

/** The role `member`, how an operator came, and links that make one. A column's check goes with it: nothing else changes it. */
export const memberTables: Ddl = `
  ALTER TABLE @operator ADD COLUMN role_now TEXT NOT NULL DEFAULT 'viewer'
    CHECK (role_now IN ('owner', 'admin', 'member', 'viewer', 'billing'));
  UPDATE @operator SET role_now = role;
  ALTER TABLE @operator DROP COLUMN role;
  ALTER TABLE @operator RENAME COLUMN role_now TO role;
  ALTER TABLE @operator ADD COLUMN origin TEXT;
  CREATE TABLE @invitation (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    -- JSON list; null: all.
    accounts TEXT,
    name TEXT,
    email TEXT,
    created_ms WHOLE NOT NULL,
    created_by TEXT NOT NULL,
    ends_ms WHOLE NOT NULL
  ) ROWS;`;

/** Whose bodies are kept for a time. */
export const bodyRuleTable: Ddl = `
  CREATE TABLE @body_rule (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('key', 'account', 'model')),
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    created_by TEXT NOT NULL,
    until_ms WHOLE NOT NULL
  ) ROWS;`;

/** Users and groups of a directory. */
export const scimTable: Ddl = `
  CREATE TABLE @scim (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    updated_ms WHOLE NOT NULL,
    UNIQUE (kind, name)
  ) ROWS;`;

/** Logins at MCP servers. */
export const grantTables: Ddl = `
  CREATE TABLE @mcp_grant (
    server TEXT PRIMARY KEY,
    sealed TEXT NOT NULL,
    ended TEXT,
    version WHOLE NOT NULL,
    lease_ms WHOLE NOT NULL,
    login_ms WHOLE NOT NULL,
    login_by TEXT NOT NULL
  ) ROWS;
  CREATE TABLE @mcp_login (hash TEXT PRIMARY KEY, sealed TEXT NOT NULL, ends_ms WHOLE NOT NULL) ROWS;`;

/** Which tenant got which id of an object at a provider, and under which credential. */
export const providerObjectTable: Ddl = `
  CREATE TABLE @provider_object (
    id_hash TEXT NOT NULL,
    tenant TEXT NOT NULL,
    target TEXT NOT NULL,
    credential TEXT NOT NULL,
    expires_ms WHOLE NOT NULL,
    PRIMARY KEY (id_hash, tenant)
  ) KEYED;
  CREATE INDEX provider_object_age ON @provider_object (tenant, expires_ms);
  CREATE INDEX provider_object_expiry ON @provider_object (expires_ms);`;

/**
 * Rows that changed since a version of `store_version`, which triggers write for each writer: the `account` and the
 * `key` of this id (a secret is its key's), and with '' a table whose rows are few, by its name. Its `version` is the next one at
 * that moment, which is the writer's or the one after.
 */
export const rowChangeTable: Ddl = `
  CREATE TABLE @row_change (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version WHOLE NOT NULL,
    PRIMARY KEY (kind, id)
  ) KEYED;
  CREATE INDEX row_change_version ON @row_change (version);`;

/** Tables of which each changed row is noted, with the kind and the column of its id. */
export const rowsNoted = [
  ['account', 'account', 'id'],
  ['api_key', 'key', 'id'],
  ['api_key_secret', 'key', 'key_id'],
] as const;

/** Tables that are noted as a whole. A migration that makes one anew makes its triggers anew. */
export const tablesNoted = ['plan', 'kept', 'credential', 'operator', 'invitation', 'body_rule'] as const;

import type { Ddl } from './ddl.ts';

/** `Idempotency-Key`. Not KEYED: a sealed reply may be a megabyte. */
export const replyTable: Ddl = `
  CREATE TABLE @reply (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    request_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    expires_ms WHOLE NOT NULL,
    -- Null while the request runs.
    status INTEGER,
    sealed BYTES,
    PRIMARY KEY (scope, key)
  ) ROWS;
  CREATE INDEX reply_expiry ON @reply (expires_ms);`;

export const noticeTables: Ddl = `
  CREATE TABLE @crossing (
    scope TEXT NOT NULL,
    limit_id TEXT NOT NULL,
    share REAL NOT NULL,
    crossed_ms WHOLE NOT NULL,
    PRIMARY KEY (scope, limit_id, share)
  ) KEYED;
  CREATE TABLE @notice (
    id TEXT PRIMARY KEY,
    plan TEXT NOT NULL,
    body TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    tries INTEGER NOT NULL,
    -- The next try; while one runs, the end of its lease.
    next_ms WHOLE NOT NULL
  ) ROWS;
  CREATE INDEX notice_due ON @notice (next_ms);`;

export const noticeHistory: Ddl = `
  ALTER TABLE @notice ADD COLUMN reason TEXT;
  CREATE TABLE @ended_notice (
    id TEXT PRIMARY KEY,
    plan TEXT NOT NULL,
    body TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    tries INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    ended_ms WHOLE NOT NULL
  ) ROWS;
  CREATE INDEX ended_notice_age ON @ended_notice (ended_ms);
  CREATE INDEX ended_notice_order ON @ended_notice (created_ms, id);`;

/** Sizes of pictures behind links: their files do not say whose they are. */
export const pictureTable: Ddl = `
  CREATE TABLE @picture (account TEXT NOT NULL, bytes WHOLE NOT NULL, until_ms WHOLE NOT NULL) ROWS;
  CREATE INDEX picture_end ON @picture (until_ms);`;

export const alertTable: Ddl = `
  CREATE TABLE @alert (
    name TEXT PRIMARY KEY,
    severity TEXT NOT NULL,
    text TEXT NOT NULL,
    fix TEXT,
    since_ms WHOLE NOT NULL,
    seen_ms WHOLE NOT NULL,
    told TEXT NOT NULL,
    told_ms WHOLE
  ) KEYED;`;

/** Not KEYED: what is sealed may be megabytes. */
export const responseTables: Ddl = `
  CREATE TABLE @response (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    previous TEXT,
    conversation TEXT,
    status TEXT NOT NULL,
    -- The process in which it runs; null: it has ended.
    boot_id TEXT,
    created_ms WHOLE NOT NULL,
    expires_ms WHOLE NOT NULL,
    input BYTES NOT NULL,
    answer BYTES NOT NULL,
    events BYTES,
    PRIMARY KEY (tenant, id)
  ) ROWS;
  CREATE INDEX response_expiry ON @response (expires_ms);
  CREATE TABLE @conversation (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    expires_ms WHOLE NOT NULL,
    metadata BYTES NOT NULL,
    PRIMARY KEY (tenant, id)
  ) ROWS;
  CREATE INDEX conversation_expiry ON @conversation (expires_ms);
  CREATE TABLE @conversation_item (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    item BYTES NOT NULL,
    PRIMARY KEY (tenant, conversation, seq),
    UNIQUE (tenant, conversation, id)
  ) ROWS;`;

/** Places of items that were removed from conversations, where a list may go on for a while. */
export const conversationPlaces: Ddl = `
  CREATE TABLE @conversation_place (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    removed_ms WHOLE NOT NULL,
    PRIMARY KEY (tenant, conversation, id)
  ) KEYED;
  CREATE INDEX conversation_place_removed ON @conversation_place (removed_ms);`;

/** Not KEYED: a chunk is up to a megabyte. */
export const batchTables: Ddl = `
  CREATE TABLE @stored_file (
    id CODE PRIMARY KEY,
    tenant TEXT NOT NULL,
    purpose TEXT NOT NULL,
    bytes WHOLE NOT NULL,
    created_ms WHOLE NOT NULL,
    expires_ms WHOLE NOT NULL,
    facts BYTES NOT NULL,
    complete INTEGER NOT NULL
  ) ROWS;
  CREATE INDEX stored_file_tenant ON @stored_file (tenant, id);
  CREATE INDEX stored_file_expiry ON @stored_file (expires_ms);
  CREATE TABLE @file_chunk (
    file TEXT NOT NULL,
    seq INTEGER NOT NULL,
    content BYTES NOT NULL,
    PRIMARY KEY (file, seq)
  ) ROWS;
  CREATE TABLE @batch (
    id CODE PRIMARY KEY,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    format TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    input_file TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    deadline_ms WHOLE NOT NULL,
    facts BYTES NOT NULL,
    ending TEXT,
    total WHOLE,
    succeeded WHOLE NOT NULL DEFAULT 0,
    errored WHOLE NOT NULL DEFAULT 0,
    counted_ms WHOLE,
    cancelling_ms WHOLE,
    finalizing_ms WHOLE,
    ended_ms WHOLE,
    expires_ms WHOLE,
    output_file TEXT,
    error_file TEXT,
    worker TEXT,
    lease_until_ms WHOLE NOT NULL DEFAULT 0,
    has_lines INTEGER NOT NULL DEFAULT 1
  ) ROWS;
  CREATE INDEX batch_tenant ON @batch (tenant, id);
  CREATE INDEX batch_open ON @batch (lease_until_ms) WHERE ended_ms IS NULL;
  CREATE INDEX batch_expiry ON @batch (expires_ms);
  CREATE TABLE @batch_line (
    batch TEXT NOT NULL,
    seq WHOLE NOT NULL,
    request_id TEXT NOT NULL,
    -- Digest of its custom_id; null: it has none.
    key TEXT,
    state TEXT NOT NULL,
    result BYTES,
    bytes WHOLE NOT NULL DEFAULT 0,
    PRIMARY KEY (batch, seq),
    UNIQUE (batch, key)
  ) ROWS;`;

/** Lines of batches that are at a provider. */
export const awayLines: Ddl = `
  ALTER TABLE @batch ADD COLUMN expected_tokens WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @batch ADD COLUMN expected_usd_nano WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @batch ADD COLUMN ahead_succeeded WHOLE NOT NULL DEFAULT 0;
  ALTER TABLE @batch_line ADD COLUMN part WHOLE;`;

/** Indexes of the few rows that upkeep looks for among all files and batches. */
export const batchUpkeep: Ddl = `
  CREATE INDEX stored_file_unfinished ON @stored_file (created_ms) WHERE complete = 0;
  CREATE INDEX batch_with_lines ON @batch (id) WHERE has_lines = 1;`;

/** Bodies of requests. Not KEYED: they may be megabytes. */
export const bodyTable: Ddl = `
  CREATE TABLE @kept_body (
    request_id CODE PRIMARY KEY,
    at_ms WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT,
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    bytes WHOLE NOT NULL,
    sealed BYTES NOT NULL
  ) ROWS;
  CREATE INDEX kept_body_age ON @kept_body (at_ms);
  CREATE INDEX kept_body_size ON @kept_body (request_id, bytes);`;

/** Signatures of bodies. A separate table: a search reads these rows without the bodies between them. */
export const bodySignatureTable: Ddl = `
  CREATE TABLE @kept_body_signature (
    request_id CODE PRIMARY KEY REFERENCES @kept_body (request_id) ON DELETE CASCADE,
    sealed BYTES NOT NULL
  ) ROWS;`;

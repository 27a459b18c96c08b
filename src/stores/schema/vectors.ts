import type { Ddl } from './ddl.ts';

/** Owners of collections in Qdrant; the embedded engine has files for that. */
export const vectorTables: Ddl = `
  CREATE TABLE @vector_collection (
    generation CODE PRIMARY KEY,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    name CODE NOT NULL,
    size INTEGER NOT NULL,
    distance TEXT NOT NULL,
    embedding_model TEXT
  ) KEYED;
  CREATE UNIQUE INDEX vector_collection_name ON @vector_collection (tenant, name);
  CREATE INDEX vector_collection_account ON @vector_collection (account);
  CREATE TABLE @vector_alias (
    tenant TEXT NOT NULL,
    alias CODE NOT NULL,
    generation CODE NOT NULL REFERENCES @vector_collection (generation) ON DELETE CASCADE,
    PRIMARY KEY (tenant, alias)
  ) KEYED;
  CREATE INDEX vector_alias_generation ON @vector_alias (generation);
  CREATE TABLE @vector_index (
    generation CODE NOT NULL REFERENCES @vector_collection (generation) ON DELETE CASCADE,
    key CODE NOT NULL,
    type TEXT NOT NULL,
    PRIMARY KEY (generation, key)
  ) KEYED;
  -- Points of collections that are no more.
  CREATE TABLE @vector_deletion (
    generation CODE PRIMARY KEY,
    size INTEGER NOT NULL,
    distance TEXT NOT NULL,
    dropped_ms WHOLE NOT NULL,
    tries INTEGER NOT NULL,
    -- The next try; while one runs, the end of its lease.
    next_ms WHOLE NOT NULL
  ) KEYED;
  CREATE INDEX vector_deletion_due ON @vector_deletion (next_ms);`;

/** JSON of a collection's named vectors; null: it has the unnamed one alone. */
export const namedVectors: Ddl = `
  ALTER TABLE @vector_collection ADD COLUMN named TEXT;
  ALTER TABLE @vector_deletion ADD COLUMN named TEXT;`;

/** Settings of Qdrant's clients, which are shown to them again. */
export const vectorSettings: Ddl = `
  -- JSON; null: none.
  ALTER TABLE @vector_collection ADD COLUMN settings TEXT;
  -- JSON; null: it was named by its type alone.
  ALTER TABLE @vector_index ADD COLUMN params TEXT;`;

/** Vector stores of OpenAI's API; their passages are in collections. Not KEYED: names and attributes may be long. */
export const vectorStoreTables: Ddl = `
  CREATE TABLE @vector_store (
    id CODE PRIMARY KEY,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    active_ms WHOLE NOT NULL,
    -- Null: never.
    expires_ms WHOLE,
    emptied INTEGER NOT NULL DEFAULT 0,
    facts BYTES NOT NULL
  ) ROWS;
  CREATE INDEX vector_store_tenant ON @vector_store (tenant, id);
  CREATE INDEX vector_store_expiry ON @vector_store (expires_ms) WHERE emptied = 0;
  CREATE TABLE @vector_store_file (
    id CODE PRIMARY KEY,
    store TEXT NOT NULL,
    tenant TEXT NOT NULL,
    key_id TEXT NOT NULL,
    file TEXT NOT NULL,
    batch TEXT,
    created_ms WHOLE NOT NULL,
    status TEXT NOT NULL DEFAULT 'in_progress',
    bytes WHOLE NOT NULL DEFAULT 0,
    facts BYTES NOT NULL,
    worker TEXT,
    lease_until_ms WHOLE NOT NULL DEFAULT 0,
    UNIQUE (store, file)
  ) ROWS;
  CREATE INDEX vector_store_file_listed ON @vector_store_file (store, id);
  CREATE INDEX vector_store_file_counted ON @vector_store_file (store, status, bytes);
  CREATE INDEX vector_store_file_batch ON @vector_store_file (batch, status, bytes);
  CREATE INDEX vector_store_file_open ON @vector_store_file (tenant, id, lease_until_ms) WHERE status = 'in_progress';
  CREATE TABLE @vector_store_batch (
    id CODE PRIMARY KEY,
    store TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    cancelled_ms WHOLE
  ) ROWS;
  CREATE INDEX vector_store_batch_store ON @vector_store_batch (store);`;

/** Places of files that were removed from vector stores, where a list may go on for a while. */
export const vectorStorePlaces: Ddl = `
  CREATE TABLE @vector_store_place (
    store TEXT NOT NULL,
    file TEXT NOT NULL,
    -- Id that the file had in the store.
    id CODE NOT NULL,
    removed_ms WHOLE NOT NULL,
    PRIMARY KEY (store, file)
  ) KEYED;
  CREATE INDEX vector_store_place_removed ON @vector_store_place (removed_ms);`;

/** Leased files, which are few where many wait. */
export const vectorStoreLeases: Ddl = `
  CREATE INDEX vector_store_file_leased ON @vector_store_file (lease_until_ms, tenant) WHERE status = 'in_progress';`;

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

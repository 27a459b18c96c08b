import type { Migration } from '../migration.ts';

/** Whose collections stand in Qdrant: what SQLite keeps in culvert.db. */
export const vectorMigration: Migration = {
  version: 5,
  name: 'collections of vectors',
  sql: `
    CREATE TABLE culvert.vector_collection (
      generation TEXT COLLATE "C" PRIMARY KEY,
      tenant TEXT NOT NULL,
      account TEXT NOT NULL,
      name TEXT COLLATE "C" NOT NULL,
      size INTEGER NOT NULL,
      distance TEXT NOT NULL,
      embedding_model TEXT
    );
    CREATE UNIQUE INDEX vector_collection_name ON culvert.vector_collection (tenant, name);
    CREATE INDEX vector_collection_account ON culvert.vector_collection (account);
    CREATE TABLE culvert.vector_alias (
      tenant TEXT NOT NULL,
      alias TEXT COLLATE "C" NOT NULL,
      generation TEXT COLLATE "C" NOT NULL REFERENCES culvert.vector_collection (generation) ON DELETE CASCADE,
      PRIMARY KEY (tenant, alias)
    );
    CREATE INDEX vector_alias_generation ON culvert.vector_alias (generation);
    CREATE TABLE culvert.vector_index (
      generation TEXT COLLATE "C" NOT NULL REFERENCES culvert.vector_collection (generation) ON DELETE CASCADE,
      key TEXT COLLATE "C" NOT NULL,
      type TEXT NOT NULL,
      PRIMARY KEY (generation, key)
    );
    -- Points of collections that are no more.
    CREATE TABLE culvert.vector_deletion (
      generation TEXT COLLATE "C" PRIMARY KEY,
      size INTEGER NOT NULL,
      distance TEXT NOT NULL,
      dropped_ms BIGINT NOT NULL,
      tries INTEGER NOT NULL,
      -- The next try; while one runs, the end of its lease.
      next_ms BIGINT NOT NULL
    );
    CREATE INDEX vector_deletion_due ON culvert.vector_deletion (next_ms);
  `,
};

/** Parts of a collection beside its unnamed vector. */
export const namedVectorMigration: Migration = {
  version: 12,
  name: 'named vectors',
  sql: `
    -- JSON of a collection's named vectors; null: it has the unnamed one alone.
    ALTER TABLE culvert.vector_collection ADD COLUMN named TEXT;
    ALTER TABLE culvert.vector_deletion ADD COLUMN named TEXT;
  `,
};

/** Settings of Qdrant's clients, which are shown to them again. */
export const vectorSettingsMigration: Migration = {
  version: 16,
  name: 'settings of collections of vectors',
  sql: `
    -- JSON; null: none.
    ALTER TABLE culvert.vector_collection ADD COLUMN settings TEXT;
    -- JSON; null: it was named by its type alone.
    ALTER TABLE culvert.vector_index ADD COLUMN params TEXT;
  `,
};

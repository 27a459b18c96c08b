import type { Migration } from '../migration.ts';

/** Pages that were read: what SQLite keeps in pages.db. No backup keeps them: they can be read again. */
export const pageMigration: Migration = {
  version: 7,
  name: 'pages',
  sql: `
    CREATE TABLE culvert.page (
      -- Of tenant and URL: a URL may be longer than what an index holds.
      id TEXT COLLATE "C" PRIMARY KEY,
      tenant TEXT NOT NULL,
      url TEXT NOT NULL,
      variant TEXT NOT NULL,
      fetched_ms BIGINT NOT NULL,
      chars BIGINT NOT NULL,
      title TEXT NOT NULL,
      markdown TEXT NOT NULL,
      text TEXT NOT NULL,
      html TEXT NOT NULL,
      links TEXT NOT NULL,
      metadata TEXT NOT NULL,
      words TSVECTOR NOT NULL
    );
    CREATE INDEX page_age ON culvert.page (tenant, fetched_ms, chars);
    CREATE INDEX page_fetched ON culvert.page (fetched_ms);
    CREATE INDEX page_words ON culvert.page USING gin (words);
  `,
};

export const pageVariantMigration: Migration = {
  version: 8,
  name: 'page variants',
  sql: `
    ALTER TABLE culvert.page
      -- A variant may be longer than what an index holds.
      ADD COLUMN variant_hash BYTEA,
      ADD COLUMN etag TEXT,
      ADD COLUMN last_modified TEXT,
      -- Those of one variant of a URL alone: a page is found once.
      ALTER COLUMN words DROP NOT NULL;
    UPDATE culvert.page SET variant_hash = sha256(convert_to(variant, 'UTF8'));
    ALTER TABLE culvert.page
      ALTER COLUMN variant_hash SET NOT NULL,
      DROP CONSTRAINT page_pkey,
      ADD PRIMARY KEY (id, variant_hash);
  `,
};

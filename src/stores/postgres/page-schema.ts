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

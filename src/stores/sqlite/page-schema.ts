import type { Migration } from '../migration.ts';

/**
 * `pages.db`: pages that were read. A file of its own: its writes would hold up those of accounts.
 */
export const pageMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'pages',
    sql: `
      CREATE TABLE page (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        url TEXT NOT NULL,
        variant TEXT NOT NULL,
        fetched_ms INTEGER NOT NULL,
        chars INTEGER NOT NULL,
        title TEXT NOT NULL,
        markdown TEXT NOT NULL,
        text TEXT NOT NULL,
        html TEXT NOT NULL,
        links TEXT NOT NULL,
        metadata TEXT NOT NULL,
        UNIQUE (tenant, url)
      ) STRICT;
      CREATE INDEX page_age ON page (tenant, fetched_ms, chars);
      CREATE INDEX page_fetched ON page (fetched_ms);
      -- owner: one word a tenant, so that the words of others are not even looked at.
      CREATE VIRTUAL TABLE page_words USING fts5 (
        owner, title, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
      );
    `,
  },
  {
    version: 2,
    name: 'page variants',
    // A table that is unique by something else has to be made anew.
    sql: `
      CREATE TABLE page_variant (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        url TEXT NOT NULL,
        variant TEXT NOT NULL,
        fetched_ms INTEGER NOT NULL,
        etag TEXT,
        last_modified TEXT,
        chars INTEGER NOT NULL,
        title TEXT NOT NULL,
        markdown TEXT NOT NULL,
        text TEXT NOT NULL,
        html TEXT NOT NULL,
        links TEXT NOT NULL,
        metadata TEXT NOT NULL,
        UNIQUE (tenant, url, variant)
      ) STRICT;
      INSERT INTO page_variant
        SELECT id, tenant, url, variant, fetched_ms, NULL, NULL, chars, title, markdown, text, html, links, metadata
        FROM page;
      DROP TABLE page;
      ALTER TABLE page_variant RENAME TO page;
      CREATE INDEX page_age ON page (tenant, fetched_ms, chars);
      CREATE INDEX page_fetched ON page (fetched_ms);
    `,
  },
];

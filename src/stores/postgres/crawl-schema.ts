import type { Migration } from '../migration.ts';

/** Crawls: what SQLite keeps in crawl.db. */
export const crawlMigration: Migration = {
  version: 6,
  name: 'crawls',
  sql: `
    CREATE TABLE culvert.crawl (
      id TEXT COLLATE "C" PRIMARY KEY,
      tenant TEXT NOT NULL,
      account TEXT NOT NULL,
      key_id TEXT NOT NULL,
      url TEXT NOT NULL,
      options TEXT NOT NULL,
      status TEXT NOT NULL,
      error TEXT,
      page_limit INTEGER NOT NULL,
      rows INTEGER NOT NULL,
      ends INTEGER NOT NULL,
      done INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      waiting INTEGER NOT NULL,
      charged INTEGER NOT NULL,
      seeded INTEGER NOT NULL,
      worker TEXT,
      lease_until_ms BIGINT NOT NULL,
      created_ms BIGINT NOT NULL,
      ended_ms BIGINT,
      expires_ms BIGINT
    );
    CREATE INDEX crawl_tenant ON culvert.crawl (tenant, id);
    CREATE INDEX crawl_running ON culvert.crawl (lease_until_ms) WHERE status = 'scraping';
    CREATE INDEX crawl_expiry ON culvert.crawl (expires_ms) WHERE expires_ms IS NOT NULL;
    CREATE TABLE culvert.crawl_page (
      crawl TEXT COLLATE "C" NOT NULL REFERENCES culvert.crawl (id) ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      -- URLs may be longer than what an index row can hold.
      key_hash BYTEA NOT NULL,
      url TEXT NOT NULL,
      depth INTEGER NOT NULL,
      shape_hash BYTEA,
      state TEXT NOT NULL,
      charged INTEGER NOT NULL,
      ended INTEGER,
      ended_ms BIGINT,
      content_hash TEXT,
      code TEXT,
      error TEXT,
      page TEXT,
      PRIMARY KEY (crawl, seq)
    );
    CREATE UNIQUE INDEX crawl_page_key ON culvert.crawl_page (crawl, key_hash);
    CREATE INDEX crawl_page_open ON culvert.crawl_page (crawl, state, seq) WHERE state IN ('waiting', 'fetching');
    CREATE INDEX crawl_page_ended ON culvert.crawl_page (crawl, ended) WHERE ended IS NOT NULL;
    CREATE INDEX crawl_page_shape ON culvert.crawl_page (crawl, shape_hash) WHERE shape_hash IS NOT NULL;
    CREATE INDEX crawl_page_content ON culvert.crawl_page (crawl, content_hash) WHERE content_hash IS NOT NULL;
    CREATE TABLE culvert.crawl_hook (
      id TEXT COLLATE "C" PRIMARY KEY,
      crawl TEXT COLLATE "C" NOT NULL REFERENCES culvert.crawl (id) ON DELETE CASCADE,
      body TEXT NOT NULL,
      created_ms BIGINT NOT NULL,
      tries INTEGER NOT NULL,
      -- The next try; while one runs, the end of its lease.
      next_ms BIGINT NOT NULL
    );
    CREATE INDEX crawl_hook_due ON culvert.crawl_hook (next_ms);
    CREATE INDEX crawl_hook_crawl ON culvert.crawl_hook (crawl);
  `,
};

/** When crawls last began at a host, whichever replica they are of. */
export const crawlTurnMigration: Migration = {
  version: 9,
  name: 'crawl turns',
  sql: `
    CREATE TABLE culvert.crawl_turn (
      host_hash BYTEA PRIMARY KEY,
      began_ms BIGINT NOT NULL
    );
    CREATE INDEX crawl_turn_began ON culvert.crawl_turn (began_ms);
  `,
};

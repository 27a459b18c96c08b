import type { Migration } from '../migration.ts';

/**
 * `crawl.db`: what crawls have read. A file of its own: it may grow to many GB, and its writes would hold up those
 * of accounts.
 */
export const crawlMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'crawls',
    sql: `
      CREATE TABLE crawl (
        id TEXT PRIMARY KEY,
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
        lease_until_ms INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        ended_ms INTEGER,
        expires_ms INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX crawl_tenant ON crawl (tenant, id);
      CREATE INDEX crawl_running ON crawl (lease_until_ms) WHERE status = 'scraping';
      CREATE INDEX crawl_expiry ON crawl (expires_ms) WHERE expires_ms IS NOT NULL;
      -- Not WITHOUT ROWID: a page may be megabytes.
      CREATE TABLE crawl_page (
        crawl TEXT NOT NULL REFERENCES crawl (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        key TEXT NOT NULL,
        url TEXT NOT NULL,
        depth INTEGER NOT NULL,
        shape TEXT,
        state TEXT NOT NULL,
        charged INTEGER NOT NULL,
        ended INTEGER,
        ended_ms INTEGER,
        content_hash TEXT,
        code TEXT,
        error TEXT,
        page TEXT,
        PRIMARY KEY (crawl, seq)
      ) STRICT;
      CREATE UNIQUE INDEX crawl_page_key ON crawl_page (crawl, key);
      CREATE INDEX crawl_page_open ON crawl_page (crawl, state, seq) WHERE state IN ('waiting', 'fetching');
      CREATE INDEX crawl_page_ended ON crawl_page (crawl, ended) WHERE ended IS NOT NULL;
      CREATE INDEX crawl_page_shape ON crawl_page (crawl, shape) WHERE shape IS NOT NULL;
      CREATE INDEX crawl_page_content ON crawl_page (crawl, content_hash) WHERE content_hash IS NOT NULL;
      CREATE TABLE crawl_hook (
        id TEXT PRIMARY KEY,
        crawl TEXT NOT NULL REFERENCES crawl (id) ON DELETE CASCADE,
        body TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        -- The next try; while one runs, the end of its lease.
        next_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX crawl_hook_due ON crawl_hook (next_ms);
      CREATE INDEX crawl_hook_crawl ON crawl_hook (crawl);
    `,
  },
];

import type { Ddl } from './ddl.ts';

export const crawlTable: Ddl = `
  CREATE TABLE @crawl (
    id CODE PRIMARY KEY,
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
    lease_until_ms WHOLE NOT NULL,
    created_ms WHOLE NOT NULL,
    ended_ms WHOLE,
    expires_ms WHOLE
  ) KEYED;
  CREATE INDEX crawl_tenant ON @crawl (tenant, id);
  CREATE INDEX crawl_running ON @crawl (lease_until_ms) WHERE status = 'scraping';
  CREATE INDEX crawl_expiry ON @crawl (expires_ms) WHERE expires_ms IS NOT NULL;`;

/**
 * Not KEYED: a page may be megabytes. `key` and `shape` are the columns by which a page is found: URLs may be longer
 * than what an index of PostgreSQL holds.
 */
export function crawlPageTable(key: Ddl, shape: Ddl): Ddl {
  const [keyName, shapeName] = [key, shape].map((column) => column.split(' ', 1)[0]);
  return `
  CREATE TABLE @crawl_page (
    crawl CODE NOT NULL REFERENCES @crawl (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    ${key} NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    ${shape},
    state TEXT NOT NULL,
    charged INTEGER NOT NULL,
    ended INTEGER,
    ended_ms WHOLE,
    content_hash TEXT,
    code TEXT,
    error TEXT,
    page TEXT,
    PRIMARY KEY (crawl, seq)
  ) ROWS;
  CREATE UNIQUE INDEX crawl_page_key ON @crawl_page (crawl, ${keyName});
  CREATE INDEX crawl_page_open ON @crawl_page (crawl, state, seq) WHERE state IN ('waiting', 'fetching');
  CREATE INDEX crawl_page_ended ON @crawl_page (crawl, ended) WHERE ended IS NOT NULL;
  CREATE INDEX crawl_page_shape ON @crawl_page (crawl, ${shapeName}) WHERE ${shapeName} IS NOT NULL;
  CREATE INDEX crawl_page_content ON @crawl_page (crawl, content_hash) WHERE content_hash IS NOT NULL;`;
}

export const crawlHookTable: Ddl = `
  CREATE TABLE @crawl_hook (
    id CODE PRIMARY KEY,
    crawl CODE NOT NULL REFERENCES @crawl (id) ON DELETE CASCADE,
    body TEXT NOT NULL,
    created_ms WHOLE NOT NULL,
    tries INTEGER NOT NULL,
    -- The next try; while one runs, the end of its lease.
    next_ms WHOLE NOT NULL
  ) KEYED;
  CREATE INDEX crawl_hook_due ON @crawl_hook (next_ms);
  CREATE INDEX crawl_hook_crawl ON @crawl_hook (crawl);`;

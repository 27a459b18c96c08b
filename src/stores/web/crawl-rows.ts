import type { CrawlOptions } from '../../tools/crawl/crawl-options.ts';
import type { Crawl, CrawlStatus, Hook } from '../../tools/crawl/crawl-store.ts';

/** A row of `crawl`, as both databases have it. */
export interface CrawlColumns {
  id: string;
  tenant: string;
  account: string;
  key_id: string;
  url: string;
  options: string;
  status: string;
  error: string | null;
  page_limit: number;
  done: number;
  failed: number;
  waiting: number;
  charged: number;
  seeded: number;
  created_ms: number;
  ended_ms: number | null;
  expires_ms: number | null;
}

export function crawlOf(row: CrawlColumns): Crawl {
  return {
    id: row.id,
    tenant: row.tenant,
    account: row.account,
    keyId: row.key_id,
    url: row.url,
    options: JSON.parse(row.options) as CrawlOptions,
    status: row.status as CrawlStatus,
    error: row.error,
    done: row.done,
    failed: row.failed,
    waiting: row.waiting,
    charged: row.charged,
    seeded: row.seeded === 1,
    createdMs: row.created_ms,
    endedMs: row.ended_ms,
    expiresMs: row.expires_ms,
  };
}

export interface HookColumns {
  id: string;
  crawl: string;
  tenant: string;
  body: string;
  options: string | null;
  created_ms: number;
  tries: number;
}

export function hookOf(row: HookColumns): Hook {
  return {
    id: row.id,
    crawl: row.crawl,
    tenant: row.tenant,
    body: row.body,
    webhook: row.options === null ? null : (JSON.parse(row.options) as CrawlOptions).webhook,
    createdMs: row.created_ms,
    tries: row.tries,
  };
}

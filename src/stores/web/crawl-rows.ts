import type { CrawlOptions } from '../../tools/crawl/crawl-options.ts';
import type { Crawl, CrawlStatus, Hook } from '../../tools/crawl/crawl-store.ts';
import type { Row } from '../sql-tables.ts';

/** Reads a row of `crawl`. */
export function crawlOf(row: Row): Crawl {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    account: String(row.account),
    keyId: String(row.key_id),
    url: String(row.url),
    options: optionsIn(row.options),
    status: row.status as CrawlStatus,
    error: row.error === null ? null : String(row.error),
    done: Number(row.done),
    failed: Number(row.failed),
    waiting: Number(row.waiting),
    charged: Number(row.charged),
    seeded: row.seeded === 1,
    createdMs: Number(row.created_ms),
    endedMs: msIn(row.ended_ms),
    expiresMs: msIn(row.expires_ms),
  };
}

/** Reads a row of the table of webhooks, with the options of its crawl. */
export function hookOf(row: Row): Hook {
  return {
    id: String(row.id),
    crawl: String(row.crawl),
    tenant: String(row.tenant),
    body: String(row.body),
    webhook: row.options === null ? null : optionsIn(row.options).webhook,
    createdMs: Number(row.created_ms),
    tries: Number(row.tries),
  };
}

function optionsIn(cell: unknown): CrawlOptions {
  return JSON.parse(String(cell));
}

function msIn(cell: unknown): number | null {
  return cell === null ? null : Number(cell);
}

import type { CrawlOptions } from '../../tools/crawl/crawl-options.ts';
import type { Crawl, CrawlError, Hook } from '../../tools/crawl/crawl-store.ts';
import { rowShape } from '../row-shape.ts';
import type { Row } from '../sql-tables.ts';

/** A row of `crawl`, whose options have the end user. */
export const crawlOf = rowShape<Omit<Crawl, 'user'>>()({
  text: ['id', 'tenant', 'account', 'keyId', 'url', 'status'],
  'text?': ['error'],
  number: ['done', 'failed', 'waiting', 'charged', 'createdMs'],
  'number?': ['endedMs', 'expiresMs'],
  flag: ['seeded'],
  json: ['options'],
}).read;

/** A page of a crawl that failed. */
export const errorOf = rowShape<CrawlError>()(
  { text: ['url', 'code', 'error'], number: ['seq', 'atMs'] },
  { atMs: 'ended_ms' },
).read;

const hookShape = rowShape<Omit<Hook, 'webhook'>>()({
  text: ['id', 'crawl', 'tenant', 'body'],
  number: ['createdMs', 'tries'],
});

/** Reads a row of the table of webhooks, with the options of its crawl. */
export function hookOf(row: Row): Hook {
  const webhook = row.options === null ? null : (JSON.parse(String(row.options)) as CrawlOptions).webhook;
  return { ...hookShape.read(row), webhook };
}

import type { Config } from '../../../config/schema.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { OpenedCrawls } from '../../../inference/families/pages/open-crawls.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { type CrawlKind, kindOf } from '../../../tools/crawl/crawl-options.ts';
import type { CrawlMeter } from '../../../tools/crawl/crawl-ports.ts';
import { type Crawl, robotsCode } from '../../../tools/crawl/crawl-store.ts';
import { shownPage } from '../../../tools/scrape/scrape-answer.ts';
import { callerOf, type Exchange } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { writeJson } from '../../write-json.ts';
import type { ToolMount } from './tool-mounts.ts';

/** Where crawls or batches are requested. */
export interface CrawlPlace {
  /** Path of their collection. */
  at: string;
  kind: CrawlKind;
  api: ToolMount['api'];
}

export interface CrawlParts extends Pick<OpenedCrawls, 'crawls' | 'sink' | 'guard' | 'patterns' | 'writer'> {
  meter: Pick<CrawlMeter, 'mayPay'>;
  services: Pick<Services, 'idempotency'>;
  config(): Config;
  clock: Clock;
}

const pagesMax = 100;
const crawlsMax = 100;

/** `GET …/crawl/:id?cursor=&limit=`: its state, and pages in the order in which they were read. */
export async function showCrawl(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
  const query = new URLSearchParams(exchange.search);
  const cursor = wholeIn(query, 'cursor', 0, Number.MAX_SAFE_INTEGER, 0);
  const limit = wholeIn(query, 'limit', 1, pagesMax, pagesMax);
  if (typeof cursor !== 'number') return cursor;
  if (typeof limit !== 'number') return limit;
  const crawl = await crawlOf(parts, exchange, place);
  if (isFailure(crawl)) return crawl;
  const results = await parts.crawls.results(crawl.id, cursor, limit);
  const last = results.at(-1)?.at ?? cursor;
  const more = results.length > 0 && (await parts.crawls.results(crawl.id, last, 1)).length > 0;
  const limitQuery = limit === pagesMax ? '' : `&limit=${limit}`;
  const base = linkBaseOf(exchange.request, parts.config().server);
  const body: JsonObject = {
    success: true,
    id: crawl.id,
    ...(place.api === 'culvert' && { url: crawl.url, collection: crawl.options.collection?.name ?? null }),
    ...stateOf(crawl),
    ...(place.api === 'culvert' || crawl.expiresMs !== null ? {} : { expiresAt: expiryIfEndedNow(parts) }),
    // Firecrawl's first SDK takes any `next` for an address.
    ...(more
      ? { next: `${base}${place.at}/${crawl.id}?cursor=${last}${limitQuery}` }
      : place.api === 'culvert' && { next: null }),
    data: results.map(({ page }) => ({
      ...shownPage(page),
      // Its older word for the same.
      ...(place.api === 'firecrawl-v1' && page.json !== undefined && { extract: page.json }),
      ...(page.warnings.length === 0 ? {} : { warning: page.warnings.join(' ') }),
    })),
  };
  writeJson(exchange, 200, body, exchange.admitted?.headers);
  return null;
}

/** Firecrawl's SDKs want a date of those that run too. */
function expiryIfEndedNow({ clock, config }: CrawlParts): string {
  return new Date(clock.wallMs() + config().tools.crawl.retention).toISOString();
}

function stateOf(crawl: Crawl): JsonObject {
  const { status, error, done, failed, waiting, charged, expiresMs, createdMs } = crawl;
  return {
    status,
    ...(error === null ? {} : { error }),
    completed: done,
    failed,
    total: Math.min(done + failed + waiting, Math.max(crawl.options.limit, done + failed)),
    creditsUsed: charged,
    createdAt: new Date(createdMs).toISOString(),
    ...(expiresMs === null ? {} : { expiresAt: new Date(expiresMs).toISOString() }),
  };
}

/** `GET …/crawl/:id/errors`. */
export async function showErrors(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
  const crawl = await crawlOf(parts, exchange, place);
  if (isFailure(crawl)) return crawl;
  const all = await parts.crawls.errors(crawl.id);
  const errors = all
    .filter(({ code }) => code !== robotsCode)
    .map(({ seq, url, code, error, atMs }) => ({
      id: String(seq),
      timestamp: new Date(atMs).toISOString(),
      url,
      code,
      error,
    }));
  const robotsBlocked = all.filter(({ code }) => code === robotsCode).map(({ url }) => url);
  writeJson(exchange, 200, { success: true, errors, robotsBlocked }, exchange.admitted?.headers);
  return null;
}

/** `DELETE …/crawl/:id`: again and again the same; one that has ended otherwise cannot be cancelled. */
export async function cancelCrawl(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
  const { principal, admitted } = exchange;
  const found = await crawlOf(parts, exchange, place);
  if (isFailure(found)) return found;
  const crawl = await parts.crawls.cancel(callerOf({ principal }).tenant, found.id);
  if (crawl === null) return unknown;
  if (crawl.status !== 'cancelled') {
    return { kind: 'conflict', message: `It has ended already: ${crawl.status}. Its pages are kept.` };
  }
  writeJson(exchange, 200, { success: true, status: 'cancelled' }, admitted?.headers);
  return null;
}

/** `GET …/crawl?before=&limit=` and `GET …/crawl/active`. */
export async function listCrawls(
  parts: CrawlParts,
  exchange: Exchange,
  { kind }: CrawlPlace,
  which: 'all' | 'running',
): Promise<Failure | null> {
  const query = new URLSearchParams(exchange.search);
  const limit = wholeIn(query, 'limit', 1, crawlsMax, crawlsMax);
  if (typeof limit !== 'number') return limit;
  const { tenant } = callerOf(exchange);
  const crawls = await parts.crawls.list(tenant, { kind, which, before: query.get('before'), limit });
  const body = { success: true, crawls: crawls.map(shownCrawl) };
  writeJson(exchange, 200, body, exchange.admitted?.headers);
  return null;
}

/** No secrets: headers of pages and webhooks are not shown again. */
function shownCrawl(crawl: Crawl): JsonObject {
  const { id, tenant, url, options } = crawl;
  const { limit, maxDepth, includePaths, excludePaths, sitemap, maxConcurrency, delayMs, collection } = options;
  return {
    id,
    teamId: tenant,
    url,
    ...stateOf(crawl),
    options: {
      limit,
      maxDiscoveryDepth: maxDepth,
      includePaths: includePaths === null ? null : [...includePaths],
      excludePaths: excludePaths === null ? null : [...excludePaths],
      sitemap,
      maxConcurrency,
      delay: delayMs / 1_000,
      scrapeOptions: { formats: [...options.scrape.formats] },
      collection: collection?.name ?? null,
    },
  };
}

async function crawlOf(
  { crawls }: CrawlParts,
  { params, principal }: Exchange,
  { kind, api }: CrawlPlace,
): Promise<Crawl | Failure> {
  const crawl = await crawls.find(callerOf({ principal }).tenant, params.id ?? '');
  // Firecrawl's first SDK for JavaScript asks for its batches where crawls are.
  const isHere = api === 'firecrawl-v1' || (crawl !== null && kindOf(crawl.options) === kind);
  return crawl !== null && isHere ? crawl : unknown;
}

const unknown: Failure = {
  kind: 'not-found',
  message: 'There is none with this id, or it was deleted when its retention ended.',
};

function wholeIn(query: URLSearchParams, name: string, min: number, max: number, absent: number): number | Failure {
  const text = query.get(name);
  if (text === null) return absent;
  const value = Number(text);
  return /^\d{1,15}$/.test(text) && value >= min && value <= max
    ? value
    : invalid(name, `'${name}' must be a whole number from ${min} to ${max}.`);
}

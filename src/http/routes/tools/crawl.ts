import { callerIdOf } from '../../../books/auth/principal.ts';
import type { Config } from '../../../config/schema.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { OpenedCrawls } from '../../../inference/families/pages/open-crawls.ts';
import { endUserOf } from '../../../inference/spine/end-user.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import { type CrawlKind, type CrawlOptions, kindOf } from '../../../tools/crawl/crawl-options.ts';
import type { CrawlMeter, CrawlOwner } from '../../../tools/crawl/crawl-ports.ts';
import { type Crawl, robotsCode } from '../../../tools/crawl/crawl-store.ts';
import { runningMax } from '../../../tools/crawl/crawls.ts';
import { type ReadBatch, readBatch } from '../../../tools/crawl/read-batch-options.ts';
import { type ReadCrawl, readCrawl } from '../../../tools/crawl/read-crawl-options.ts';
import { crawlFromV1, scrapeFromV1 } from '../../../tools/firecrawl-v1.ts';
import { schemaOfReads } from '../../../tools/read-schema.ts';
import { shownPage } from '../../../tools/scrape/scrape-answer.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import { begunOnce } from '../../begun-once.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { readJsonBody } from '../../read-body.ts';
import { refuseCall, writeJson } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';
import { type ToolMount, toolMounts } from './tool-mounts.ts';

/** Patterns, headers and the like. */
const bodyBytesMax = 1024 * 1024;

/** `/v1/tools/crawl` and `/v1/tools/batch/scrape`, and the same for Firecrawl's SDKs. */
export function crawlRoutes(parts: CrawlParts): Route[] {
  return toolMounts.flatMap(({ at, api, dialect }) => [
    ...routesAt(parts, { at: `${at}/crawl`, kind: 'crawl', api }, dialect),
    ...routesAt(parts, { at: `${at}/batch/scrape`, kind: 'batch', api }, dialect),
  ]);
}

type Handler = (parts: CrawlParts, exchange: Exchange, place: CrawlPlace) => Promise<Failure | null>;

function routesAt(parts: CrawlParts, place: CrawlPlace, dialect: Route['dialect']): Route[] {
  const route = (method: 'GET' | 'POST' | 'DELETE', path: string, summary: string, handler: Handler): Route =>
    keyRoute(`${method} ${place.at + path}`, method === 'POST' ? 'one' : 'free', {
      // Free, because callers ask often how far it is: the pages are what costs.
      ...(method === 'POST' && { endpoint: 'crawl' }),
      ...(method === 'POST' &&
        place.api !== 'firecrawl-v1' && {
          body: { schema: () => schemaOfReads((fields) => readFor(parts, place.kind, fields)) },
        }),
      dialect,
      summary,
      async handle(exchange) {
        const failure = await handler(parts, exchange, place).catch(failureIn);
        if (failure !== null) refuseCall(exchange, failure);
      },
    });
  const [one, many, begins] =
    place.kind === 'crawl'
      ? ['crawl', 'crawls', 'Starts to read a whole site']
      : ['batch', 'batches', 'Starts to read many pages'];
  return [
    route('POST', '', begins, beginCrawl),
    route('GET', '', `The ${many} of this key, newest first`, (...of) => listCrawls(...of, 'all')),
    route('GET', '/active', 'Those that are running', (...of) => listCrawls(...of, 'running')),
    route('GET', '/:id', `How far a ${one} is, and its pages`, showCrawl),
    route('GET', '/:id/errors', 'Pages that could not be read', showErrors),
    route('DELETE', '/:id', `Cancels a ${one}; its pages are kept`, cancelCrawl),
  ];
}

/** body → checked → key → addresses → quota left → written down → answered; a worker takes it up. */
async function beginCrawl(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return null;
  if (isFailure(raw)) return raw;
  const parsed = parseObject(raw);
  if (isFailure(parsed)) return parsed;
  const { body } = parsed;
  const { kind, api, at } = place;
  const v1 = api === 'firecrawl-v1';
  const fields = new ToolFields(v1 ? inV2[kind](body) : body);
  const read = readFor(parts, kind, fields);
  const { urls, options } = read;
  const caller = callerOf(exchange);
  const { tenant, account } = caller;
  const user = endUserOf({ principal: caller, callerHeaders: exchange.request.headers }, null);
  const owner = { tenant, account, keyId: callerIdOf(caller), user };
  const crawl = await begunOnce(parts.services, { exchange, endpoint: at, tenant, body: raw }, async () => {
    const refused =
      parts.writer(owner, options) ??
      (await parts.patterns(tenant, options)) ??
      // Each page of a batch is checked when its turn comes: a refused one is no reason against the others.
      (kind === 'batch' ? null : await parts.guard(urls[0]!, 'url')) ??
      (options.webhook === null ? null : await parts.guard(options.webhook.url, 'webhook.url')) ??
      // A caller that cannot pay the first page learns it now, not from a stopped crawl.
      (await parts.meter.mayPay(owner)) ??
      (await withoutCollection(parts, { ...owner, collection: options.collection }));
    if (refused !== null) return refused;
    const made = await parts.crawls.create(owner, urls, options);
    if (made === 'full') return tooMany;
    const base = linkBaseOf(exchange.request, parts.config().server);
    return begun(read, fields, made.id, `${base}${at}/${made.id}`);
  });
  if (crawl === null || isFailure(crawl)) return crawl;
  writeJson(exchange, 200, crawl, exchange.admitted?.headers);
  return null;
}

function readFor({ config }: CrawlParts, kind: CrawlKind, fields: ToolFields): ReadCrawl | ReadBatch {
  const { max_pages: pagesMax, delay: delayMs, max_concurrency: concurrencyMax } = config().tools.crawl;
  const rules = { pagesMax, delayMs, concurrencyMax };
  return kind === 'batch' ? readBatch(fields, rules) : readCrawl(fields, rules);
}

const inV2 = { crawl: crawlFromV1, batch: scrapeFromV1 };

function begun(read: ReadCrawl | ReadBatch, fields: ToolFields, id: string, url: string): JsonObject {
  const { options, warnings } = read;
  const unknown = fields.unknownWarning();
  const warning = [...warnings, ...(unknown === null ? [] : [unknown])].join(' ');
  return {
    success: true,
    id,
    url,
    ...('invalidUrls' in read && { invalidURLs: [...read.invalidUrls] }),
    ...(options.webhook === null ? {} : { webhookSecret: options.webhook.secret }),
    ...(warning === '' ? {} : { warning }),
  };
}

const tooMany: Failure = {
  kind: 'quota-exceeded',
  limit: 'crawls',
  window: null,
  used: runningMax,
  allowed: runningMax,
  freeAtMs: null,
  message: `${runningMax} crawls and batches of this key are running. Wait until one ends, or cancel one with DELETE.`,
};

async function withoutCollection(
  { sink }: CrawlParts,
  { collection, ...owner }: CrawlOwner & Pick<CrawlOptions, 'collection'>,
): Promise<Failure | null> {
  if (collection === null) return null;
  if (sink === null)
    return { kind: 'unsupported', message: "'collection' needs the vector store, which this server does not have." };
  const { tenant, account, keyId } = owner;
  return sink.check({ tenant, account, keyId, collection: collection.name, model: collection.model });
}

/** Where crawls or batches are requested. */
interface CrawlPlace {
  /** Path of their collection. */
  at: string;
  kind: CrawlKind;
  api: ToolMount['api'];
}

interface CrawlParts extends Pick<OpenedCrawls, 'crawls' | 'sink' | 'guard' | 'patterns' | 'writer'> {
  meter: Pick<CrawlMeter, 'mayPay'>;
  services: Pick<Services, 'idempotency'>;
  config(): Config;
  clock: Clock;
}

const pagesMax = 100;
const crawlsMax = 100;

/** `GET …/crawl/:id?cursor=&limit=`: its state, and pages in the order in which they were read. */
async function showCrawl(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
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
async function showErrors(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
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
async function cancelCrawl(parts: CrawlParts, exchange: Exchange, place: CrawlPlace): Promise<Failure | null> {
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
async function listCrawls(
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

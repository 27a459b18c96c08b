import { callerIdOf } from '../../../books/auth/principal.ts';
import { type Failure, failureIn, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import type { CrawlKind, CrawlOptions } from '../../../tools/crawl/crawl-options.ts';
import type { CrawlOwner } from '../../../tools/crawl/crawl-ports.ts';
import { runningMax } from '../../../tools/crawl/crawls.ts';
import { type ReadBatch, readBatch } from '../../../tools/crawl/read-batch-options.ts';
import { type ReadCrawl, readCrawl } from '../../../tools/crawl/read-crawl-options.ts';
import { crawlFromV1, scrapeFromV1 } from '../../../tools/firecrawl-v1.ts';
import { schemaOfReads } from '../../../tools/read-schema.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import { begunOnce } from '../../begun-once.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { readJsonBody } from '../../read-body.ts';
import { refuseCall, writeJson } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';
import { type CrawlParts, type CrawlPlace, cancelCrawl, listCrawls, showCrawl, showErrors } from './crawl-status.ts';
import { toolMounts } from './tool-mounts.ts';

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
  const owner = { tenant, account, keyId: callerIdOf(caller) };
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

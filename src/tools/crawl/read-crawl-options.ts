import { type Failure, FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { webhookKey } from '../../kernel/web/webhook-key.ts';
import { isHeaderValue } from '../../net/page-headers.ts';
import { canonicalUrl } from '../canonical-url.ts';
import { readScrapeOptions, readUrl } from '../scrape/scrape-options.ts';
import { ToolFields } from '../tool-fields.ts';
import { newWebhookSecret } from './crawl-message.ts';
import { type CrawlCollection, type CrawlOptions, type CrawlWebhook, crawlEvents } from './crawl-options.ts';
import type { CrawlThreads } from './crawl-threads.ts';

/** `tools.crawl` of the configuration: no crawl is faster or larger. */
export interface CrawlRules {
  pagesMax: number;
  delayMs: number;
  concurrencyMax: number;
}

export interface ReadCrawl {
  /** Its canonical start; or the pages of a batch, as they were given. */
  urls: readonly string[];
  options: CrawlOptions;
  warnings: readonly string[];
}

const limitDefault = 100;
const depthMax = 50;
const depthDefault = 5;
const delayMaxS = 3_600;
const concurrencyDefault = 2;
const patterns = { itemsMax: 50, charsMax: 500 };
const webhookHeadersMax = 20;
const metadataMax = 20;

/** The members of a crawl request. Throws a FailureError (400) for a wrong one. */
export function readCrawl(fields: ToolFields, rules: CrawlRules): ReadCrawl {
  const warnings: string[] = [];
  const url = canonicalUrl(readUrl(fields));
  if (url === null) throw new FailureError(invalid('url', "'url' is not the http or https address of a page."));
  const options: CrawlOptions = {
    limit: limitIn(fields, rules, warnings),
    maxDepth: fields.whole('maxDiscoveryDepth', { min: 0, max: depthMax, default: depthDefault }),
    includePaths: patternsIn(fields, 'includePaths'),
    excludePaths: patternsIn(fields, 'excludePaths'),
    patternsOn: fields.truth('regexOnFullURL', false) ? 'url' : 'path',
    crawlEntireDomain: fields.truth('crawlEntireDomain', false),
    allowSubdomains: fields.truth('allowSubdomains', false),
    allowExternalLinks: fields.truth('allowExternalLinks', false),
    sitemap: fields.oneOf('sitemap', ['include', 'skip', 'only']) ?? 'include',
    ignoreQueryParameters: fields.truth('ignoreQueryParameters', false),
    robots: fields.truth('ignoreRobotsTxt', false) ? 'ignore' : 'obey',
    delayMs: delayIn(fields, rules),
    maxConcurrency: concurrencyIn(fields, rules, warnings),
    scrape: scrapeIn(fields, warnings),
    webhook: webhookIn(fields),
    collection: collectionIn(fields),
  };
  return { urls: [url], options, warnings };
}

function limitIn(fields: ToolFields, { pagesMax }: CrawlRules, warnings: string[]): number {
  const requested = fields.whole('limit', {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    default: Math.min(limitDefault, pagesMax),
  });
  if (requested > pagesMax) warnings.push(`'limit' is at most ${pagesMax} pages here, not ${requested}.`);
  return Math.min(requested, pagesMax);
}

/** A thread checks whether they are patterns: see `refusalOfPatterns`. */
function patternsIn(fields: ToolFields, name: string): readonly string[] | null {
  const texts = fields.texts(name, patterns);
  return texts === null || texts.length === 0 ? null : texts;
}

/** A 400 for a pattern that is none, or none that takes linear time; 503 when too much waits to be looked at. */
export async function refusalOfPatterns(
  threads: CrawlThreads,
  tenant: string,
  { includePaths: include, excludePaths: exclude }: CrawlOptions,
): Promise<Failure | null> {
  if (include === null && exclude === null) return null;
  const checked = await threads.ask(tenant, 'check', { include, exclude });
  if (checked === null)
    return invalid('includePaths', "'includePaths' and 'excludePaths' take too long to read. Write shorter patterns.");
  const { fault } = checked;
  if (fault === null) return null;
  const path = `${fault.field}Paths[${fault.at}]`;
  return invalid(
    path,
    `'${path}' is not a pattern that Culvert accepts (${fault.why}). Patterns are RE2's: regular expressions without look-around and back-references. For all paths below /blog write ^/blog/.*`,
  );
}

export function delayIn(fields: ToolFields, { delayMs }: CrawlRules): number {
  const value = fields.value('delay');
  if (value === undefined) return delayMs;
  if (typeof value !== 'number' || !(value >= 0 && value <= delayMaxS))
    return fields.refuse('delay', `a number of seconds from 0 to ${delayMaxS}`);
  return Math.max(delayMs, Math.round(value * 1_000));
}

export function concurrencyIn(fields: ToolFields, { concurrencyMax }: CrawlRules, warnings: string[]): number {
  const absent = Math.min(concurrencyDefault, concurrencyMax);
  const requested = fields.whole('maxConcurrency', { min: 1, max: 1_000_000, default: absent });
  if (requested > concurrencyMax)
    warnings.push(`'maxConcurrency' is at most ${concurrencyMax} here, not ${requested}.`);
  return Math.min(requested, concurrencyMax);
}

function scrapeIn(fields: ToolFields, warnings: string[]): CrawlOptions['scrape'] {
  const inner = fields.object('scrapeOptions') ?? new ToolFields({}, 'scrapeOptions');
  const read = readScrapeOptions(inner);
  warnings.push(...read.warnings);
  return read.options;
}

/** A URL, or an object of Firecrawl's form. */
export function webhookIn(fields: ToolFields): CrawlWebhook | null {
  const value = fields.value('webhook');
  if (value === undefined) return null;
  const inner = typeof value === 'string' ? new ToolFields({ url: value }, 'webhook') : fields.object('webhook')!;
  const text = inner.text('url', { min: 1, max: 2_048 });
  const url = text === null ? null : URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return inner.refuse('url', 'an http or https address');
  const secret = inner.text('secret', { min: 1, max: 500 });
  if (secret !== null && webhookKey(secret) === null)
    inner.refuse('secret', 'at least 32 characters, or whsec_ and the base64 of at least 24 bytes');
  return {
    url: url.href,
    headers: webhookHeadersIn(inner),
    metadata: stringsIn(inner, 'metadata', metadataMax),
    events: eventsIn(inner),
    secret: secret ?? newWebhookSecret(),
  };
}

/** Ours are the connection's and those that sign. */
const callerHeaders =
  /^(?:host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|content-.*|webhook-.*|proxy-.*)$/i;

function webhookHeadersIn(fields: ToolFields): Record<string, string> {
  const headers = stringsIn(fields, 'headers', webhookHeadersMax);
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[a-z0-9-]{1,100}$/i.test(name) || !isHeaderValue(value) || callerHeaders.test(name))
      fields.refuse(
        'headers',
        'an object of header names that Culvert does not set itself, and values of visible characters',
      );
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function stringsIn(fields: ToolFields, name: string, itemsMax: number): Record<string, string> {
  const value = fields.value(name);
  if (value === undefined) return {};
  const fits = (one: JsonObject) =>
    Object.keys(one).length <= itemsMax &&
    Object.entries(one).every(([key, text]) => key.length <= 200 && typeof text === 'string' && text.length <= 1_000);
  if (!isObject(value) || !fits(value))
    return fields.refuse(name, `an object of at most ${itemsMax} strings of at most 1,000 characters`);
  return { ...(value as Record<string, string>) };
}

function eventsIn(fields: ToolFields): CrawlWebhook['events'] {
  const value = fields.value('events');
  if (value === undefined) return crawlEvents;
  const known = (item: JsonValue) =>
    crawlEvents.find((event) => event === item || `crawl.${event}` === item || `batch_scrape.${event}` === item);
  const events = Array.isArray(value) && value.length <= 10 ? value.map(known) : [undefined];
  if (events.includes(undefined)) return fields.refuse('events', `an array of ${crawlEvents.join(', ')}`);
  return [...new Set(events as CrawlWebhook['events'])];
}

/** A name, or an object with the alias that embeds. */
export function collectionIn(fields: ToolFields): CrawlCollection | null {
  const value = fields.value('collection');
  if (value === undefined) return null;
  const inner =
    typeof value === 'string' ? new ToolFields({ name: value }, 'collection') : fields.object('collection')!;
  const name = inner.text('name', { min: 1, max: 255 });
  if (name === null) return inner.refuse('name', 'the name of a vector collection');
  return { name, model: inner.text('model', { min: 1, max: 200 }) };
}

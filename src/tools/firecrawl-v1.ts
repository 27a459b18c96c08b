import { isObject, type JsonObject, type JsonValue, objectIn } from '../kernel/json.ts';

/*
 * Translates bodies of Firecrawl's first API into the words of its second, which are ours, too. Faults in them stay:
 * the reader reports them.
 */

/** `extract` is the older word for `json`; both have their options outside `formats`. No page is from the cache. */
export function scrapeFromV1({ extract, jsonOptions, formats, ...body }: JsonObject): JsonObject {
  const options = jsonOptions ?? extract;
  const ofFormat = (format: JsonValue) =>
    format === 'json' || format === 'extract' ? { ...objectIn(options), type: 'json' } : format;
  return {
    maxAge: 0,
    ...body,
    ...(formats == null ? {} : { formats: Array.isArray(formats) ? formats.map(ofFormat) : formats }),
  };
}

/** A result that was requested as `extract` is answered under that name. */
export function scrapeToV1(answer: JsonObject, { formats }: JsonObject): JsonObject {
  const { data } = answer;
  if (!Array.isArray(formats) || !formats.includes('extract') || !isObject(data)) return answer;
  return { ...answer, data: { ...data, ...(data.json === undefined ? {} : { extract: data.json }) } };
}

export function mapFromV1({ ignoreSitemap, sitemapOnly, ...body }: JsonObject): JsonObject {
  return { ...sitemapOf(ignoreSitemap, sitemapOnly), ...body };
}

/** Links are addresses alone. */
export function mapToV1(answer: JsonObject): JsonObject {
  const { links } = answer;
  return Array.isArray(links)
    ? { ...answer, links: links.map((link) => (isObject(link) ? (link.url ?? null) : link)) }
    : answer;
}

export function crawlFromV1({
  ignoreSitemap,
  allowBackwardLinks,
  maxDepth,
  scrapeOptions,
  ...body
}: JsonObject): JsonObject {
  return {
    ...sitemapOf(ignoreSitemap, undefined),
    ...(allowBackwardLinks === undefined ? {} : { crawlEntireDomain: allowBackwardLinks }),
    ...(maxDepth === undefined ? {} : { maxDiscoveryDepth: maxDepth }),
    ...body,
    ...readingFromV1(scrapeOptions),
  };
}

export function searchFromV1({ scrapeOptions, ...body }: JsonObject): JsonObject {
  return { ...body, ...readingFromV1(scrapeOptions) };
}

/** The hits of the web are all that there is. */
export function searchToV1(answer: JsonObject): JsonObject {
  const { data } = answer;
  return { ...answer, data: (isObject(data) ? data.web : undefined) ?? [] };
}

function readingFromV1(scrapeOptions: JsonValue | undefined): JsonObject {
  if (scrapeOptions === undefined) return {};
  return { scrapeOptions: isObject(scrapeOptions) ? scrapeFromV1(scrapeOptions) : scrapeOptions };
}

function sitemapOf(ignored: JsonValue | undefined, only: JsonValue | undefined): JsonObject {
  if (only === true) return { sitemap: 'only' };
  return ignored === undefined ? {} : { sitemap: ignored === true ? 'skip' : 'include' };
}

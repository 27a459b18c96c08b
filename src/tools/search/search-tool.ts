import { type Failure, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { isPaid, type PageReader } from '../page-reader.ts';
import { shownPage } from '../scrape/scrape-answer.ts';
import { type ReadOptions, readScrapeOptions } from '../scrape/scrape-options.ts';
import { isWritten, type ScrapedPage, type ScrapeOptions } from '../scrape/scraped-page.ts';
import type { ToolAnswer, ToolJob } from '../tool-call.ts';
import type { ToolFields } from '../tool-fields.ts';
import { type ConfiguredEngine, configuredEngines, corpusName, type SearchProviderConfig } from './engine-targets.ts';
import type { SearchHit } from './merge-hits.ts';
import { queryOf, readSearch, type SearchOptions } from './read-search.ts';
import { type FoundHits, runSearch, type SearchRunParts } from './run-search.ts';
import { createSearchCache, type SearchCache } from './search-cache.ts';
import type { SearchQuery, SearchSource } from './search-engine.ts';

export interface SearchToolParts extends SearchRunParts {
  /** `tools.search.providers` in force. */
  providers(): readonly SearchProviderConfig[];
  /** Complete answers are kept elsewhere: those of engines are not kept here as well. */
  keepsAnswers(): boolean;
  /** Units: what of `costs` a search and a page are. */
  costs(): { search: number; scrape: number };
  reader: Pick<PageReader, 'read'>;
}

/** The caller, and its arrival (monotonic ms). */
export interface SearchCaller {
  tenant: string;
  /** Owner of the quota that pays for a model's text about pages. */
  keyId: string;
  startedMs: number;
}

/** `search`, for REST and for whatever else calls tools. */
export type SearchTool = ReturnType<typeof createSearchTool>;

export function createSearchTool(parts: SearchToolParts) {
  const cache = createSearchCache(() => parts.clock.monotonicMs());
  /** Made anew with each configuration: health finds its lanes by the target. */
  let known: { of: readonly SearchProviderConfig[]; made: ReturnType<typeof configuredEngines> } | null = null;
  function enginesNow() {
    const providers = parts.providers();
    if (known?.of !== providers) known = { of: providers, made: configuredEngines(providers) };
    return known.made;
  }

  return {
    /** Engines in force, with their health. */
    engines: (): readonly ConfiguredEngine[] => enginesNow().engines,
    /** Checks the request; a wrong field throws a FailureError. Nothing has been asked or charged yet. */
    prepare(fields: ToolFields, caller: SearchCaller): ToolJob {
      const { engines, corpus } = enginesNow();
      const names = [...new Set([...engines.map(({ name }) => name), corpusName])];
      const options = readSearch(fields, names);
      const scrape = options.scrape === null ? null : readScrapeOptions(options.scrape);
      const named =
        options.provider === null
          ? engines
          : [...engines, corpus].filter(({ name }) => name === options.provider).slice(0, 1);
      const pagesMax = scrape === null ? 0 : options.limit * options.sources.filter(isOfPages).length;
      // A model that writes of pages is one of the caller's.
      const isShared = scrape === null || !isWritten(scrape.options);
      return {
        charge: { tool: 'search', pagesMax },
        ...(isShared && { sharedUntilMs: caller.startedMs + options.timeoutMs }),
        run: (signal) => run(parts, cache, named, { options, scrape, caller, signal }),
      };
    },
  };
}

async function run(
  parts: SearchToolParts,
  cache: SearchCache,
  engines: readonly ConfiguredEngine[],
  call: { options: SearchOptions; scrape: ReadOptions | null; caller: SearchCaller; signal: AbortSignal },
): Promise<ToolAnswer | Failure> {
  const { options, scrape, caller, signal } = call;
  const deadlineMs = caller.startedMs + options.timeoutMs;
  const found = await Promise.all(
    options.sources.map((source) =>
      findOne(parts, cache, engines, queryOf(options, source, parts.clock.wallMs()), { caller, deadlineMs, signal }),
    ),
  );
  const lists: FoundList[] = [];
  for (const [at, one] of found.entries()) {
    if (isFailure(one)) return one;
    lists.push({ source: options.sources[at]!, ...one });
  }
  const warnings = new Set(lists.flatMap((list) => list.found.warnings));
  const hits = lists.flatMap((list) => list.found.hits);
  let pages: readonly JsonObject[] = [];
  let read = 0;
  if (scrape !== null) {
    const leftMs = () => deadlineMs - parts.clock.monotonicMs();
    // Pictures come last.
    const toRead = lists.filter(({ source }) => isOfPages(source)).flatMap((list) => list.found.hits);
    const scraped = await scrapeHits(parts.reader, toRead, {
      tenant: caller.tenant,
      keyId: caller.keyId,
      options: scrape.options,
      leftMs,
      signal,
    });
    pages = scraped.pages;
    for (const warning of [...scrape.warnings, ...scraped.warnings]) warnings.add(warning);
    read = scraped.read;
  }
  const results = hits.map((hit, at) => ({ ...hit, ...pages[at] }));
  const { search, scrape: page } = parts.costs();
  const isLasting =
    lists.every((list) => isKeepable(engines, list.found)) && pages.every(({ metadata }) => !isFailed(metadata));
  return {
    kind: 'answer',
    body: bodyOf(lists, results, search + page * read),
    warnings: [...warnings],
    pages: read,
    ...(isLasting && { lasting: true }),
  };
}

interface FoundList {
  source: SearchSource;
  found: FoundHits;
  cached: boolean;
}

/** Empty answers may be an engine's bad moment, and the caller's own pages grow with every scrape. */
function isKeepable(engines: readonly ConfiguredEngine[], found: FoundHits): boolean {
  return found.hits.length > 0 && !engines.some(({ name, driver }) => name === found.provider && driver === null);
}

function isFailed(metadata: JsonValue | undefined): boolean {
  return isObject(metadata) && 'error' in metadata;
}

/** The page of a picture is not what was searched for. */
function isOfPages(source: SearchSource): boolean {
  return source !== 'images';
}

function bodyOf(
  lists: readonly FoundList[],
  results: readonly (SearchHit & JsonObject)[],
  creditsUsed: number,
): JsonObject {
  const data: JsonObject = {};
  let from = 0;
  for (const { source, found } of lists) {
    data[source] = results.slice(from, from + found.hits.length);
    from += found.hits.length;
  }
  return {
    data,
    // For clients of Tavily's and Exa's shape: one list, and the words under `content`.
    results: results.map((result) => ({ ...result, content: result.markdown ?? result.description ?? result.title })),
    provider: [...new Set(lists.map(({ found }) => found.provider))].join(', '),
    cached: lists.every(({ cached }) => cached),
    creditsUsed,
  };
}

async function findOne(
  parts: SearchToolParts,
  cache: SearchCache,
  engines: readonly ConfiguredEngine[],
  query: SearchQuery,
  { caller, deadlineMs, signal }: { caller: SearchCaller; deadlineMs: number; signal: AbortSignal },
): Promise<{ found: FoundHits; cached: boolean } | Failure> {
  const { nowMs: _, ...question } = query;
  const engineIds = engines.map(({ target }) => target.healthId);
  const key = JSON.stringify([caller.tenant, engineIds, question]);
  const cached = parts.keepsAnswers() ? null : cache.get(key);
  if (cached !== null) return { found: cached, cached: true };
  const found = await runSearch(parts, engines, { tenant: caller.tenant, query, deadlineMs, signal });
  if (found.kind !== 'found') return found;
  if (isKeepable(engines, found) && !parts.keepsAnswers()) cache.put(key, found);
  return { found, cached: false };
}

/** Pages of one search that are read at once. */
const atOnceMax = 4;
/** Characters of all pages of one answer together. Further ones are left out, with a warning. */
const contentCharsMax = 16_000_000;

/** Tenant of the pages, their options and the deadline. */
interface HitsToScrape {
  tenant: string;
  keyId: string;
  options: ScrapeOptions;
  leftMs(): number;
  signal: AbortSignal;
}

/** A page's additions to its hit. For one that could not be read, `metadata.error` says why. */
interface ScrapedHits {
  /** In the order of the hits. */
  pages: readonly JsonObject[];
  /** How many are paid: those that could be read, and those that a thread or the browser was killed over. */
  read: number;
  warnings: readonly string[];
}

/** Reads the pages of hits. Never rejects: a page that fails is one hit without its content. */
export async function scrapeHits(
  reader: Pick<PageReader, 'read'>,
  hits: readonly Pick<SearchHit, 'url'>[],
  order: HitsToScrape,
): Promise<ScrapedHits> {
  const pages = new Array<JsonObject>(hits.length);
  /** Shared: each worker takes the next. */
  const waiting = hits.entries();
  let chars = 0;
  let leftOut = 0;
  let worked = 0;

  async function work(): Promise<void> {
    for (const [at, { url }] of waiting) {
      const read = await readHit(reader, url, order);
      if (read.worked) worked += 1;
      const { page } = read;
      chars += charsOf(page);
      if (chars > contentCharsMax) {
        leftOut++;
        chars -= charsOf(page);
        pages[at] = {
          metadata: {
            ...objectIn(page.metadata),
            error: 'left out, because the pages of this answer are too large together',
          },
        };
      } else pages[at] = page;
    }
  }

  await Promise.all(Array.from({ length: Math.min(atOnceMax, hits.length) }, work));
  const failed = pages.filter(({ metadata }) => isFailed(metadata)).length;
  const warnings =
    failed === 0 ? [] : [`${failed} of ${hits.length} pages could not be given. Their metadata.error says why.`];
  if (leftOut > 0) warnings.push('Ask for fewer formats or a smaller limit.');
  return { pages, read: hits.length - failed + worked, warnings };
}

interface ReadHit {
  page: JsonObject;
  /** It failed, and is paid. */
  worked: boolean;
}

async function readHit(reader: Pick<PageReader, 'read'>, url: string, order: HitsToScrape): Promise<ReadHit> {
  // Whole: a signal takes no part of a millisecond.
  const leftMs = Math.floor(order.leftMs());
  if (leftMs <= 0 || order.signal.aborted) return { page: failed(url, 'there was no time left for it'), worked: false };
  const { tenant, keyId, signal } = order;
  const options = { ...order.options, timeoutMs: Math.min(order.options.timeoutMs, leftMs) };
  const page = await reader.read({ tenant, keyId, url, options, paced: false, signal });
  // Limits and times are not among the failures of a page.
  if (isFailure(page)) return { page: failed(url, factsOf(page, 0).message), worked: isPaid(page) };
  return { page: contentOf(page), worked: false };
}

function contentOf(page: ScrapedPage): JsonObject {
  const warning = page.warnings.length === 0 ? {} : { warning: page.warnings.join(' ') };
  return { ...shownPage(page), ...warning };
}

function failed(url: string, error: string): JsonObject {
  return { metadata: { sourceURL: url, url, error } };
}

function charsOf({ markdown, html, rawHtml, text, screenshot, summary, links }: JsonObject): number {
  const texts = [markdown, html, rawHtml, text, screenshot, summary].reduce<number>(
    (sum, one) => sum + (typeof one === 'string' ? one.length : 0),
    0,
  );
  return texts + (Array.isArray(links) ? links.reduce<number>((sum, link) => sum + String(link).length, 0) : 0);
}

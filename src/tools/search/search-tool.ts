import { type Failure, isFailure } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { PageReader } from '../page-reader.ts';
import { type ReadOptions, readScrapeOptions } from '../scrape/scrape-options.ts';
import { isWritten } from '../scrape/scraped-page.ts';
import type { ToolAnswer, ToolJob } from '../tool-call.ts';
import type { ToolFields } from '../tool-fields.ts';
import { type ConfiguredEngine, configuredEngines, corpusName, type SearchProviderConfig } from './engine-targets.ts';
import type { SearchHit } from './merge-hits.ts';
import { readSearch, type SearchOptions } from './read-search.ts';
import { type FoundHits, runSearch, type SearchRunParts } from './run-search.ts';
import { scrapeHits } from './scrape-hits.ts';
import { createSearchCache, type SearchCache } from './search-cache.ts';
import type { SearchQuery, SearchSource } from './search-engine.ts';

export interface SearchToolParts extends SearchRunParts {
  /** `tools.search.providers` in force. */
  providers(): readonly SearchProviderConfig[];
  /** Units: what of `costs` a search and a page are. */
  /** Complete answers are kept elsewhere: those of engines are not kept here as well. */
  keepsAnswers(): boolean;
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

interface SearchCall {
  options: SearchOptions;
  scrape: ReadOptions | null;
  caller: SearchCaller;
  signal: AbortSignal;
}

async function run(
  parts: SearchToolParts,
  cache: SearchCache,
  engines: readonly ConfiguredEngine[],
  call: SearchCall,
): Promise<ToolAnswer | Failure> {
  const { options, scrape, caller, signal } = call;
  const deadlineMs = caller.startedMs + options.timeoutMs;
  const found = await Promise.all(
    options.sources.map((source) =>
      findOne(parts, cache, engines, queryOf(options, source, parts), { caller, deadlineMs, signal }),
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

function queryOf(options: SearchOptions, source: SearchSource, { clock }: SearchToolParts): SearchQuery {
  const { query, limit, offset, country, lang, timeRange, includeDomains, excludeDomains } = options;
  return {
    query,
    source,
    limit,
    offset,
    country,
    lang,
    timeRange,
    includeDomains,
    excludeDomains,
    nowMs: clock.wallMs(),
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

import { availableParallelism } from 'node:os';
import { scrub } from '../../../formats/providers/scrub.ts';
import type { ResolveAddresses } from '../../../net/fetch-guard.ts';
import { createHostTurns } from '../../../net/host-turns.ts';
import { createPageFetcher, userAgentOf } from '../../../net/page-fetch.ts';
import { createHealth } from '../../../routing/health.ts';
import { createRetryBudget } from '../../../routing/rolling-counts.ts';
import { createCrawlThreads } from '../../../tools/crawl/crawl-threads.ts';
import { findInSitemaps } from '../../../tools/crawl/find-sitemaps.ts';
import { createExtractPool, type ExtractPool } from '../../../tools/extract/extract-pool.ts';
import type { MapParts } from '../../../tools/map/map-site.ts';
import type { PageModel } from '../../../tools/page-model.ts';
import type { PageStore } from '../../../tools/page-store.ts';
import { createChromiumRenderer } from '../../../tools/render/chromium-renderer.ts';
import { createPageReader } from '../../../tools/scrape/read-page.ts';
import { createRendering } from '../../../tools/scrape/rendering.ts';
import { createWritingReader } from '../../../tools/scrape/write-of-page.ts';
import type { Corpus } from '../../../tools/search/corpus.ts';
import { createEngineOperator } from '../../../tools/search/engine-operator.ts';
import { providersInForce } from '../../../tools/search/engine-targets.ts';
import { createSearchTool, type SearchToolParts } from '../../../tools/search/search-tool.ts';
import { createSiteFiles } from '../../../tools/site-files.ts';
import type { SpineServices } from '../../spine/services.ts';

export interface ToolsOptions {
  services: Pick<SpineServices, 'clock' | 'snapshots' | 'transport' | 'random'>;
  resolve: ResolveAddresses;
  pages: PageStore & Corpus;
  /** Writes of pages. */
  model: PageModel;
  /** A folder of this process alone. */
  dataDir: string;
  version: string;
  /** State of search engines, for the metrics. */
  onAttempt(engine: string, end: string): void;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export type Tools = ReturnType<typeof openTools>;

/** With the time before and after it, a page that hangs its reader is answered within 10 s. */
const extractKillMs = 9_000;
const extractThreadsMax = 4;
/** Scrapes of one host that may run at once; one tenant may have one less. */
const hostPagesMax = 5;

/** The web tools. Their threads start at the first page. */
export function openTools({ services, resolve, pages, model, dataDir, version, onAttempt, onTrouble }: ToolsOptions) {
  const { clock } = services;
  const config = () => services.snapshots.current.config;
  const nowMs = clock.monotonicMs;
  const turns = createHostTurns({ atOnceMax: hostPagesMax, waitingMax: 512, hostsMax: 10_000, nowMs });
  const contact = () => config().server.public_url;
  const rules = () => config().fetch;
  const fetcher = createPageFetcher({ rules, resolve, turns, nowMs: clock.wallMs, version, contact });
  const renderer = createChromiumRenderer({
    rules,
    resolve,
    chromium: () => config().tools.scrape.chromium,
    userAgent: () => userAgentOf(version, contact()),
    dataDir,
    nowMs,
    onTrouble,
  });
  const pool = openPool(onTrouble);
  const reading = createPageReader({
    fetcher,
    pool,
    rendering: createRendering({
      renderer,
      rule: () => config().tools.scrape.render,
      withoutSandbox: () => config().tools.scrape.render_without_sandbox,
      turns,
    }),
    store: pages,
    clock,
    bytesMax: () => config().tools.scrape.max_bytes,
    onTrouble,
  });
  const reader = createWritingReader({ reader: reading, model, clock });
  // It has its own, because a reload of the other forgets everything that is not a model's.
  const health = createHealth({ clock });
  const asking = { transport: services.transport, clock, scrub, health };
  const search = createSearchTool({
    ...asking,
    ...searchSettings(services),
    reader,
    corpus: pages,
    random: services.random,
    retryBudget: createRetryBudget(),
    onAttempt,
    onTrouble,
  });
  const crawlThreads = createCrawlThreads();
  const files = createSiteFiles(fetcher);
  const sitemapPages: MapParts['sitemapPages'] = (tenant, start, urlsMax, signal) =>
    findInSitemaps(start, { files, threads: crawlThreads, tenant, signal, urlsMax });
  return {
    reader,
    /** Pages that the sitemaps of a site name. */
    sitemapPages,
    fetcher,
    /** Reads HTML and PDFs that callers uploaded. */
    extracting: pool,
    /** For maps and crawls: sitemaps and patterns of strangers. */
    threads: crawlThreads,
    search,
    /** For the admin API. */
    engines: createEngineOperator({ ...asking, engines: search.engines }),
    close: async (): Promise<void> => void (await Promise.all([reader.close(), crawlThreads.close()])),
  };
}

function openPool(onTrouble: ToolsOptions['onTrouble']): ExtractPool {
  const threads = Math.min(extractThreadsMax, Math.max(1, availableParallelism() - 1));
  return createExtractPool({ threads, killMs: extractKillMs, onTrouble });
}

function searchSettings({
  snapshots,
}: Pick<SpineServices, 'snapshots'>): Pick<SearchToolParts, 'providers' | 'keepsAnswers' | 'costs'> {
  /** The same list while its address is the same. A new one makes engines anew. */
  let local: { url: string; providers: ReturnType<SearchToolParts['providers']> } | null = null;
  const providers = () => {
    const { config, localSearch: url } = snapshots.current;
    if (url === null) return config.tools.search.providers;
    if (local?.url !== url) local = { url, providers: providersInForce(config.tools.search.providers, url) };
    return local.providers;
  };
  const keepsAnswers = () => snapshots.current.config.tools.search.cache !== undefined;
  return { providers, keepsAnswers, costs: () => snapshots.current.config.costs };
}

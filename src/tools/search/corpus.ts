import type { FoundPage } from '../page-store.ts';
import { type RawHit, type SearchQuery, sinceMs } from './search-engine.ts';

/** The part of the page store that `search` needs: pages that a tenant scraped or crawled. */
export interface Corpus {
  search(tenant: string, query: string, limit: number, offset: number): Promise<readonly FoundPage[]>;
  holdsPages(tenant: string): Promise<boolean>;
}

export const emptyCorpus =
  'No search engine is configured, and this key has scraped or crawled no page that could be searched. Configure one under tools.search.providers, such as { type: searxng, base_url: http://127.0.0.1:8888 }, or scrape some pages first.';

export const corpusWarning = 'These results come from pages that this key scraped or crawled, not from the web.';

/** Pages looked at, at most, before domains and times leave some out. */
const examinedMax = 200;

/** The tenant's own pages that hold the words; null when there is none at all, whatever the words. */
export async function askCorpus(corpus: Corpus, tenant: string, query: SearchQuery): Promise<RawHit[] | null> {
  const filtered = query.timeRange !== null || query.includeDomains.length + query.excludeDomains.length > 0;
  const lastRank = query.offset + query.limit;
  const pages = await corpus.search(tenant, query.query, filtered ? examinedMax : lastRank, 0);
  if (pages.length === 0 && !(await corpus.holdsPages(tenant))) return null;
  const fromMs = query.timeRange === null ? 0 : sinceMs(query.timeRange, query.nowMs);
  return pages
    .filter(({ fetchedMs }) => fetchedMs >= fromMs)
    .map(({ url, title, snippet, score }) => ({ url, title, description: snippet, score }));
}

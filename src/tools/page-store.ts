import type { PageMetadata } from './scrape/scraped-page.ts';

/** The port of pages that were read: the cache of scrapes and the corpus that `search` looks through. Drivers: stores/. */
export interface PageStore {
  /** Keeps a page, replacing the tenant's older one of the same URL. Pages are bounded by tenant, the oldest go first. */
  keep(page: KeptPage): Promise<void>;
  /** The newest of this tenant at this URL whose `variant` is the same and which is not older than `maxAgeMs`. */
  find(tenant: string, url: string, variant: string, maxAgeMs: number): Promise<KeptPage | null>;
  /** Full text search over the tenant's pages, best first. `query`: words as a person types them. */
  search(tenant: string, query: string, limit: number, offset: number): Promise<readonly FoundPage[]>;
  /** Removes what is older than `beforeMs`. */
  prune(beforeMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface KeptPage {
  tenant: string;
  url: string;
  /** What of the options shaped it: main content or all, tags, renderer. */
  variant: string;
  fetchedMs: number;
  markdown: string;
  text: string;
  html: string;
  links: readonly string[];
  metadata: PageMetadata;
}

export interface FoundPage {
  url: string;
  title: string;
  /** Around the words that were found. */
  snippet: string;
  score: number;
  fetchedMs: number;
}

import type { Validators } from '../net/guarded-fetch.ts';
import type { PageMetadata } from './scrape/scraped-page.ts';

/** The port of pages that were read: the cache of scrapes and the corpus that `search` looks through. Drivers: stores/. */
export interface PageStore {
  /**
   * Keeps a page, replacing the tenant's older one of the same URL and variant; it is the one of its URL that searches
   * find from here on. Variants are bounded by URL, pages by tenant: the oldest go first. Resolves with the characters by
   * which the tenant's pages have grown; below 0: more of them went.
   */
  keep(page: StoredPage): Promise<number>;
  /** The tenant's page of this URL and variant, however old. */
  find(tenant: string, url: string, variant: string): Promise<StoredPage | null>;
  /** Full text search over the tenant's pages, best first, each URL once. `query`: words as a person types them. */
  search(tenant: string, query: string, limit: number, offset: number): Promise<readonly FoundPage[]>;
  /** Removes pages older than `beforeMs`. */
  prune(beforeMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface StoredPage {
  tenant: string;
  url: string;
  /** The options that shaped it: main content or all, tags, renderer. */
  variant: string;
  /** When its server last confirmed this content. */
  fetchedMs: number;
  /** Validators from `metadata.url`, for the next request to it. */
  validators: Validators;
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

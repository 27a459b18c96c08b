import type { ScrapeOptions } from '../scrape/scraped-page.ts';

/** What a crawl is asked to do, checked; kept with it. Times in ms. */
export interface CrawlOptions {
  /** Most pages that are fetched. */
  limit: number;
  maxDepth: number;
  /** Regular expressions over the path; null = no wish. */
  includePaths: readonly string[] | null;
  excludePaths: readonly string[] | null;
  /** They are held against the whole URL. */
  patternsOn: 'path' | 'url';
  crawlEntireDomain: boolean;
  allowSubdomains: boolean;
  allowExternalLinks: boolean;
  sitemap: 'include' | 'skip' | 'only';
  ignoreQueryParameters: boolean;
  robots: 'obey' | 'ignore';
  /** Least pause between two pages of one host. */
  delayMs: number;
  maxConcurrency: number;
  scrape: ScrapeOptions;
  webhook: CrawlWebhook | null;
  /** Vector collection that gets chunks of every page. */
  collection: CrawlCollection | null;
}

export const crawlEvents = ['started', 'page', 'completed', 'failed'] as const;
export type CrawlEvent = (typeof crawlEvents)[number];

export interface CrawlWebhook {
  url: string;
  headers: Readonly<Record<string, string>>;
  metadata: Readonly<Record<string, string>>;
  events: readonly CrawlEvent[];
  /** `whsec_…` */
  secret: string;
}

export interface CrawlCollection {
  name: string;
  /** Alias that embeds; null = the collection's own. */
  model: string | null;
}

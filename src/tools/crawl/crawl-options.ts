import type { ScrapeOptions } from '../scrape/scraped-page.ts';

/** Checked options of a crawl, stored with it. Times are ms. */
export interface CrawlOptions {
  /** Absent: a crawl, which follows links. */
  kind?: 'batch';
  /** Most pages that are fetched. */
  limit: number;
  maxDepth: number;
  /** Regular expressions over the path; null: none. */
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

/** A crawl finds the pages of a site. A batch gets its pages, and reads each as often as it was given. */
export type CrawlKind = 'crawl' | 'batch';

export function kindOf({ kind }: Pick<CrawlOptions, 'kind'>): CrawlKind {
  return kind ?? 'crawl';
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

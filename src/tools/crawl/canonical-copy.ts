import { canonicalUrl, isOfDomain } from '../canonical-url.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import type { CrawlRun } from './crawl-job.ts';
import { keyed } from './crawl-scope.ts';
import type { TakenPage } from './crawl-store.ts';

/**
 * The page of the same site that this one says it is a copy of (`rel=canonical`), by its URL; null where it says none
 * but itself.
 */
export function originalOf(page: TakenPage, { metadata }: ScrapedPage): string | null {
  const own = canonicalUrl(metadata.url);
  const original = metadata.canonical === null ? null : canonicalUrl(metadata.canonical, metadata.url);
  if (own === null || original === null || !sameSite(own, original)) return null;
  const { key } = keyed(original);
  return key === keyed(own).key || key === keyed(page.url).key ? null : original;
}

/**
 * Whether the original was read already, so that this page adds nothing. A hint, as for search engines: sites name
 * their first page, or page one of a series, for pages that are no copies. It is believed of a page that is there
 * and bears the same title.
 */
export async function isCopyOf(original: string, { store, crawl }: CrawlRun, read: ScrapedPage): Promise<boolean> {
  const url = new URL(original);
  if (crawl.options.ignoreQueryParameters) url.search = '';
  const kept = await store.page(crawl.id, keyed(url.href).key);
  return kept !== null && kept.metadata.statusCode < 400 && kept.metadata.title === read.metadata.title;
}

function sameSite(a: string, b: string): boolean {
  const host = (url: string) => new URL(url).hostname.replace(/^www\./, '');
  return isOfDomain(a, host(b)) || isOfDomain(b, host(a));
}

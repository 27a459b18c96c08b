import { readScrapeOptions, readUrl, timeoutMaxMs } from '../scrape/scrape-options.ts';
import type { ScrapeOptions } from '../scrape/scraped-page.ts';
import { ToolFields } from '../tool-fields.ts';

/** A checked request about a site. */
export type MapRequest = ReturnType<typeof readMapRequest>;

const linksMax = 30_000;
const linksDefault = 5_000;

export function readMapRequest(fields: ToolFields) {
  return {
    url: readUrl(fields),
    /** Links with these words come first. */
    search: fields.text('search', { min: 0, max: 500 })?.trim() || null,
    sitemap: fields.oneOf('sitemap', ['include', 'skip', 'only']) ?? 'include',
    includeSubdomains: fields.truth('includeSubdomains', true),
    ignoreQueryParameters: fields.truth('ignoreQueryParameters', true),
    limit: fields.whole('limit', { min: 1, max: linksMax, default: linksDefault }),
    timeoutMs: fields.whole('timeout', { min: 1, max: timeoutMaxMs, default: 30_000 }),
  };
}

/** How the first page of a site is read for its links: all of it, and not an old one. */
export function readingForLinks(timeoutMs: number): ScrapeOptions {
  const { options } = readScrapeOptions(new ToolFields({ formats: ['links'], onlyMainContent: false }));
  return { ...options, timeoutMs, maxAgeMs: 3_600_000 };
}

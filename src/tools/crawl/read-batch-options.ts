import { FailureError, invalid } from '../../kernel/failure.ts';
import { canonicalUrl } from '../canonical-url.ts';
import { addressOf, pageUrlCharsMax, readScrapeOptions } from '../scrape/scrape-options.ts';
import type { ToolFields } from '../tool-fields.ts';
import type { CrawlOptions } from './crawl-options.ts';
import {
  type CrawlRules,
  collectionIn,
  concurrencyIn,
  delayIn,
  type ReadCrawl,
  webhookIn,
} from './read-crawl-options.ts';

export interface ReadBatch extends ReadCrawl {
  /** Given URLs that are not addresses of a page, and are left out. */
  invalidUrls: readonly string[];
}

/**
 * The members of a batch: `urls`, and those of a scrape, of a crawl's pace, its webhook and its collection. Pages that
 * a caller names are read whatever robots.txt says. Throws a FailureError (400) for a wrong one.
 */
export function readBatch(fields: ToolFields, rules: CrawlRules): ReadBatch {
  const { urls, invalidUrls } = urlsIn(fields, rules);
  refuseAppending(fields);
  const { options: scrape, warnings: scrapeWarnings } = readScrapeOptions(fields);
  const warnings = [...scrapeWarnings];
  const options: CrawlOptions = {
    kind: 'batch',
    limit: urls.length,
    maxDepth: 0,
    includePaths: null,
    excludePaths: null,
    patternsOn: 'path',
    crawlEntireDomain: false,
    allowSubdomains: false,
    allowExternalLinks: false,
    sitemap: 'skip',
    ignoreQueryParameters: false,
    robots: 'ignore',
    delayMs: delayIn(fields, rules),
    maxConcurrency: concurrencyIn(fields, rules, warnings),
    scrape,
    webhook: webhookIn(fields),
    collection: collectionIn(fields),
  };
  return { urls, invalidUrls, options, warnings };
}

function urlsIn(fields: ToolFields, { pagesMax }: CrawlRules): { urls: string[]; invalidUrls: string[] } {
  const given = fields.texts('urls', { itemsMax: pagesMax, charsMax: pageUrlCharsMax }) ?? [];
  const ignores = fields.truth('ignoreInvalidURLs', true);
  const urls: string[] = [];
  const invalidUrls: string[] = [];
  for (const text of given) {
    const url = addressOf(text.trim());
    if (url !== null && canonicalUrl(url) !== null) urls.push(url);
    else if (ignores) invalidUrls.push(text);
    else fields.refuse(`urls[${urls.length}]`, 'the http or https address of a page');
  }
  if (urls.length > 0) return { urls, invalidUrls };
  throw new FailureError(invalid('urls', "'urls' holds no http or https address of a page."));
}

function refuseAppending(fields: ToolFields): void {
  if (fields.value('appendToId') === undefined) return;
  const message = "'appendToId' is not supported, because a batch gets all its pages at once. Start another batch.";
  throw new FailureError({ kind: 'unsupported', message });
}

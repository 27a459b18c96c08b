import { scrapeFromV1, scrapeToV1 } from '../../tools/firecrawl-v1.ts';
import type { PageReader } from '../../tools/page-reader.ts';
import { shownPage } from '../../tools/scrape/scrape-answer.ts';
import { readScrapeOptions, readUrl } from '../../tools/scrape/scrape-options.ts';
import type { Route } from '../exchange.ts';
import { type ToolParts, toolRoutes } from './tools.ts';

/** `POST /v1/tools/scrape`: one page, read. */
export function scrapeRoutes(parts: ToolParts & { reader: PageReader }): Route[] {
  return toolRoutes(parts, {
    name: 'scrape',
    summary: 'Reads a page of the web: markdown, HTML, text, links, metadata',
    v1: { request: scrapeFromV1, answer: scrapeToV1 },
    prepare(fields, { principal }) {
      const url = readUrl(fields);
      const { options, warnings } = readScrapeOptions(fields);
      return {
        charge: { tool: 'scrape', pagesMax: 0 },
        async run(signal) {
          const { tenant, keyId } = principal;
          const page = await parts.reader.read({ tenant, keyId, url, options, paced: false, signal });
          if ('kind' in page) return page;
          return { kind: 'answer', body: { data: shownPage(page) }, warnings: [...warnings, ...page.warnings] };
        },
      };
    },
  });
}

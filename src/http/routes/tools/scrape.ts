import { prepareScrape } from '../../../inference/families/pages/scrape.ts';
import type { ServeServices } from '../../../inference/spine/answer-cache.ts';
import { scrapeFromV1, scrapeToV1 } from '../../../tools/firecrawl-v1.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import type { Route } from '../../exchange.ts';
import { toolRoutes } from './tools.ts';

/** `POST /v1/tools/scrape`: one page, read. */
export function scrapeRoutes(services: ServeServices, reader: PageReader): Route[] {
  return toolRoutes(services, {
    name: 'scrape',
    summary: 'Reads a page of the web: markdown, HTML, text, links, metadata',
    v1: { request: scrapeFromV1, answer: scrapeToV1 },
    prepare: (fields, caller) => prepareScrape(reader, fields, caller),
  });
}

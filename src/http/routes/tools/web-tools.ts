import { prepareScrape } from '../../../inference/families/pages/fetch-page.ts';
import { prepareSearch } from '../../../inference/families/search/web-search.ts';
import type { ServeServices } from '../../../inference/spine/answer-cache.ts';
import * as v1 from '../../../tools/firecrawl-v1.ts';
import { readMapRequest } from '../../../tools/map/map-request.ts';
import { type MapParts, mapSite } from '../../../tools/map/map-site.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import type { SearchTool } from '../../../tools/search/search-tool.ts';
import type { Route } from '../../exchange.ts';
import { type Tool, toolRoutes } from './tools.ts';

/** `POST /v1/tools/scrape`, `search` and `map`: a page, pages for words, and the links of a site. */
export function webToolRoutes(
  services: ServeServices,
  web: MapParts & { reader: PageReader; search: SearchTool },
): Route[] {
  const tools: Tool[] = [
    {
      name: 'scrape',
      summary: 'Reads a page of the web: markdown, HTML, text, links, metadata',
      v1: { request: v1.scrapeFromV1, answer: v1.scrapeToV1 },
      prepare: (fields, caller) => prepareScrape(web.reader, fields, caller),
    },
    {
      name: 'map',
      summary: 'Lists the links of a site, by its sitemaps and its first page',
      v1: { request: v1.mapFromV1, answer: v1.mapToV1 },
      prepare(fields, { principal }) {
        const request = readMapRequest(fields);
        return {
          charge: { tool: 'map', pagesMax: 0 },
          run: (signal) => mapSite(web, request, principal.tenant, signal),
        };
      },
    },
    {
      name: 'search',
      summary: 'Searches the web, or the pages that were scraped, and reads the hits if asked to',
      v1: { request: v1.searchFromV1, answer: v1.searchToV1 },
      prepare: (fields, caller) => prepareSearch(web.search, fields, caller),
    },
  ];
  return tools.flatMap((tool) => toolRoutes(services, tool));
}

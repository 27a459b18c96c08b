import { prepareSearch } from '../../../inference/families/search/web-search.ts';
import type { ServeServices } from '../../../inference/spine/answer-cache.ts';
import { searchFromV1, searchToV1 } from '../../../tools/firecrawl-v1.ts';
import type { SearchTool } from '../../../tools/search/search-tool.ts';
import type { Route } from '../../exchange.ts';
import { toolRoutes } from './tools.ts';

/** `POST /v1/tools/search`: searches the web, or the caller's own pages, for words. */
export function searchRoutes(services: ServeServices, search: SearchTool): Route[] {
  return toolRoutes(services, {
    name: 'search',
    summary: 'Searches the web, or the pages that were scraped, and reads the hits if asked to',
    v1: { request: searchFromV1, answer: searchToV1 },
    prepare: (fields, caller) => prepareSearch(search, fields, caller),
  });
}

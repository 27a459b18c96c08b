import { searchFromV1, searchToV1 } from '../../tools/firecrawl-v1.ts';
import type { SearchTool } from '../../tools/search/search-tool.ts';
import type { Route } from '../exchange.ts';
import { type ToolParts, toolRoutes } from './tools.ts';

/** `POST /v1/tools/search`: searches the web, or the caller's own pages, for words. */
export function searchRoutes(parts: ToolParts & { search: SearchTool }): Route[] {
  return toolRoutes(parts, {
    name: 'search',
    summary: 'Searches the web, or the pages that were scraped, and reads the hits if asked to',
    v1: { request: searchFromV1, answer: searchToV1 },
    prepare: (fields, { principal, startedMs }) =>
      parts.search.prepare(fields, { tenant: principal.tenant, keyId: principal.keyId, startedMs }),
  });
}

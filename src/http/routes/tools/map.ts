import type { ServeServices } from '../../../inference/spine/answer-cache.ts';
import { mapFromV1, mapToV1 } from '../../../tools/firecrawl-v1.ts';
import { readMapRequest } from '../../../tools/map/map-request.ts';
import { type MapParts, mapSite } from '../../../tools/map/map-site.ts';
import type { Route } from '../../exchange.ts';
import { toolRoutes } from './tools.ts';

/** `POST /v1/tools/map`: the links of a site. */
export function mapRoutes(services: ServeServices, parts: MapParts): Route[] {
  return toolRoutes(services, {
    name: 'map',
    summary: 'Lists the links of a site, by its sitemaps and its first page',
    v1: { request: mapFromV1, answer: mapToV1 },
    prepare(fields, { principal }) {
      const request = readMapRequest(fields);
      return {
        charge: { tool: 'map', pagesMax: 0 },
        run: (signal) => mapSite(parts, request, principal.tenant, signal),
      };
    },
  });
}

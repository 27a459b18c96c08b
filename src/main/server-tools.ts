import type { KeyRing } from '../books/auth/key-ring.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { createMcpCalls } from '../inference/families/mcp/calls-for-models.ts';
import { createPageFetch } from '../inference/families/pages/fetch-page.ts';
import { openTools, type Tools, type ToolsOptions } from '../inference/families/pages/open-tools.ts';
import { createPageModel } from '../inference/families/pages/page-model.ts';
import { createWebSearch } from '../inference/families/search/web-search.ts';
import { type VectorEndpoint, vectorEndpoint } from '../inference/families/vectors/endpoint.ts';
import { createFileSearch, type StoreUsed } from '../inference/families/vectors/search-files.ts';
import type { ServerToolPorts } from '../inference/server-tools/tool-ports.ts';
import type { PageModel } from '../tools/page-model.ts';
import type { VectorEngine } from '../vectors/vector-engine.ts';
import type { OpenedMcp } from './mcp.ts';

/** Services of requests without the tools of this server. */
export type BaseServices = Omit<Services, 'serverTools'>;

export interface ServerTools {
  web: Tools;
  /** Writes of pages. */
  pageModel: PageModel;
  vectorCalls: VectorEndpoint;
  /** Run tools for models. */
  ports: ServerToolPorts;
}

/** The web tools, and what runs tools for models. */
export function openServerTools(
  base: BaseServices,
  parts: Omit<ToolsOptions, 'services' | 'model'> & {
    ring: Pick<KeyRing, 'principalOf'>;
    vectors: VectorEngine;
    mcp: Pick<OpenedMcp, 'guarded' | 'upstream'>;
    storeUsed: StoreUsed;
  },
): ServerTools {
  const { ring, vectors, mcp, storeUsed } = parts;
  // A question about a page names no tools.
  const pageModel = createPageModel({ ...base, serverTools: { ports: null } }, ring);
  const web = openTools({ ...parts, services: base, model: pageModel });
  const vectorCalls = vectorEndpoint(base, vectors);
  const { search, reader } = web;
  const ports: ServerToolPorts = {
    // The pages that callers have read are searched where the operator says so alone.
    has: (kind) =>
      kind !== 'web_search' ||
      base.snapshots.current.config.tools.search.providers.length > 0 ||
      search.engines().some(({ driver }) => driver !== null),
    searchWeb: createWebSearch(base, search),
    searchFiles: createFileSearch(base, vectorCalls, storeUsed),
    fetchPage: createPageFetch(base, reader),
    openMcp: createMcpCalls({ services: base, ...mcp }),
  };
  return { web, pageModel, vectorCalls, ports };
}

import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpServerConfig } from '../../config/schema.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from '../../net/fetch-guard.ts';
import { createConnect } from '../../upstream/transport/connect.ts';
import { createLookup } from '../../upstream/transport/lookup.ts';
import type { ProxyOf } from '../../upstream/transport/proxy.ts';
import { Blocked, guardedConnect } from './guarded-connect.ts';
import { McpFault, McpFaultError } from './mcp-fault.ts';
import { callInProgress, createMcpFetch, type McpFetch } from './mcp-fetch.ts';

export interface AuthorizationFetchParts {
  /** The rules in force. */
  rules(): FetchRules;
  resolve: ResolveAddresses;
  proxyOf: ProxyOf;
}

/** Size of one answer of an authorization server. */
const bytesMax = 256 * 1024;

/** Origins of the addresses that the operator wrote. */
export function writtenOrigins({ url, oauth }: Pick<McpServerConfig, 'url' | 'oauth'>): ReadonlySet<string> {
  return new Set([url, oauth?.issuer].flatMap((one) => (one === undefined ? [] : new URL(one).origin)));
}

/**
 * HTTP to authorization servers. An MCP server names them, so they are asked through the guard of the web tools;
 * those of the `written` origins may be in the private network.
 */
export function createAuthorizationFetch(
  { rules, resolve, proxyOf }: AuthorizationFetchParts,
  written: ReadonlySet<string>,
): McpFetch {
  const lookup = createLookup();
  const connectTo = (origin: URL) =>
    written.has(origin.origin)
      ? createConnect(origin, { lookup, proxy: proxyOf(origin), tunnel: 'always' })
      : guardedConnect(origin, createFetchGuard(rules(), resolve));
  const http = createMcpFetch({ connectTo, bytesMax });
  return {
    ...http,
    async fetch(url, init) {
      try {
        // A token is renewed for all callers: the one who needs it first must not end that by leaving.
        return await callInProgress.exit(() => http.fetch(url, init));
      } catch (error) {
        if (error instanceof Error && error.name === 'TimeoutError') {
          throw new McpFaultError(new McpFault('timeout', 'did not answer in time'));
        }
        // The SDK takes a TypeError for a browser's CORS, asks again, and then says that there was nothing.
        throw error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
      }
    },
  };
}

/**
 * Requests to the origin of the MCP server at `url` by `toServer`, and all others by `toIssuers`: the server names the
 * places of its metadata and of its authorization servers.
 */
export function fetchByOrigin(url: string, toServer: FetchLike, toIssuers: FetchLike): FetchLike {
  const { origin } = new URL(url);
  return async (to, init) => {
    if (new URL(to).origin === origin) return toServer(to, init);
    try {
      return await toIssuers(to, init);
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      const why = `was not authorized: it names a place for its tokens that may not be asked, since ${error.message}`;
      throw new McpFaultError(new McpFault('unauthorized', why));
    }
  };
}

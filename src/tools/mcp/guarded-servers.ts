import type { JsonWidth } from '../../kernel/json.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from '../../net/fetch-guard.ts';
import { guardedConnect } from './guarded-connect.ts';
import { McpFault } from './mcp-fault.ts';
import type { CallBounds, McpSession } from './session.ts';

export interface GuardedServer extends CallBounds {
  url: string;
  /** Headers of every message: the caller's own credentials for that server. */
  headers?: Readonly<Record<string, string>>;
  /** Size of one answer, decompressed. */
  bytesMax: number;
}

/** One message: a list of 300 tools fits, and is parsed in some ms. */
const width: JsonWidth = { structure: 16_384, commas: 81_920 };

/** MCP servers that callers name by URL, asked through the guard of the web tools. */
export type GuardedServers = ReturnType<typeof createGuardedServers>;

/** `rules` are those in force. Every connection calls `resolve` again. The SDK is loaded with the first session. */
export function createGuardedServers(parts: { rules(): FetchRules; resolve: ResolveAddresses; version: string }) {
  return {
    /** The session has its own connections; the caller that opens it closes it. `timeoutMs` is for the opening alone. */
    async open({ url: text, headers = {}, bytesMax, ...bounds }: GuardedServer): Promise<McpSession | McpFault> {
      const url = URL.parse(text);
      if (url === null) return new McpFault('blocked', 'may not be asked: it is not a URL');
      const guard = createFetchGuard(parts.rules(), parts.resolve);
      // Connections are checked too, but they know an origin only.
      const verdict = await guard.check(url);
      if (!verdict.ok && verdict.reason === 'blocked') {
        return new McpFault('blocked', `may not be asked: ${verdict.message}`);
      }
      const [{ createMcpFetch }, { openHttpSession }] = await Promise.all([
        import('./mcp-fetch.ts'),
        import('./session.ts'),
      ]);
      const http = createMcpFetch({ connectTo: (origin) => guardedConnect(origin, guard), bytesMax, width });
      const session = await openHttpSession(url, http, { ...bounds, headers, version: parts.version });
      if (session instanceof McpFault) {
        await http.close();
        return session;
      }
      return {
        ...session,
        async close() {
          await session.close();
          await http.close();
        },
      };
    },
  };
}

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { Config, McpServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonWidth } from '../../kernel/json.ts';
import { createConnect } from '../../upstream/transport/connect.ts';
import { createLookup } from '../../upstream/transport/lookup.ts';
import type { ProxyOf } from '../../upstream/transport/proxy.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { AuthorizationFetchParts } from './authorization-fetch.ts';
import { type FollowedServices, followServices } from './followed.ts';
import type { McpGrants } from './grants.ts';
import type { McpFetch } from './mcp-fetch.ts';
import type { HttpApi, OpenApiServer } from './openapi/openapi-session.ts';
import type { Standing } from './service-health.ts';
import { type UpstreamParts, UpstreamServer } from './upstream-server.ts';

/** The MCP servers of the configuration. */
export type UpstreamServers = FollowedServices<UpstreamServer>;

export interface UpstreamServersParts extends AuthorizationFetchParts {
  /** In force; asked at every use. */
  config(): Pick<Config, 'mcp'>;
  /** The results of operators' logins. */
  grants: McpGrants;
  version: string;
  clock: Clock;
  onTurn(server: string, standing: Standing): void;
}

/** Sessions of one server that is asked over HTTP. */
const httpSessionsMax = 1_000;
/** One message of an operator's server, such as a table with a thousand rows of fifty columns. */
const messageWidth: JsonWidth = { structure: 65_536, commas: 655_360 };

/** The servers follow the configuration: within a second after the start and after each change they are looked at. */
export function createUpstreamServers(parts: UpstreamServersParts): UpstreamServers {
  const lookup = createLookup();

  function open(name: string, config: McpServerConfig): UpstreamServer {
    const { clock } = parts;
    const onTurn = (standing: Standing) => parts.onTurn(name, standing);
    const sessionsMax = config.command === undefined ? httpSessionsMax : config.processes;
    return new UpstreamServer({ name, config, ...opener(name, config), sessionsMax, clock, onTurn });
  }

  function opener(name: string, config: McpServerConfig): Pick<UpstreamParts, 'open' | 'release'> {
    const { version, proxyOf, grants, clock } = parts;
    const { command, args, env, url, openapi, base_url: baseUrl, headers, oauth, max_bytes: bytesMax } = config;
    if (command !== undefined) {
      return {
        async open(bounds) {
          const { openStdioSession } = await import('./stdio-session.ts');
          return openStdioSession({ command, args, env, bytesMax }, { ...bounds, version });
        },
        async release() {},
      };
    }
    if (openapi !== undefined) return openApiOpener({ openapi, baseUrl, headers, bytesMax }, proxyOf);
    // The schema wants one of the three.
    const serverUrl = url ?? '';
    let http: McpFetch | null = null;
    let toIssuer: McpFetch | null = null;
    /** One for all sessions, so that they share a token. */
    let authProvider: OAuthClientProvider | undefined;
    const login = loginOf(config);
    async function connected(): Promise<McpFetch> {
      const [{ createMcpFetch }, { createAuthorizationFetch, fetchByOrigin, writtenOrigins }, { withGrantedTokens }] =
        await Promise.all([
          import('./mcp-fetch.ts'),
          import('./authorization-fetch.ts'),
          import('./granted-tokens.ts'),
        ]);
      if (http !== null) return http;
      // The operator named it: it may be in the private network.
      const connectTo = (origin: URL) => createConnect(origin, { lookup, proxy: proxyOf(origin), tunnel: 'always' });
      http = createMcpFetch({ connectTo, bytesMax, width: messageWidth });
      if (login === 'none' && oauth === undefined) return http;
      toIssuer = createAuthorizationFetch(parts, writtenOrigins(config));
      const { fetch } = toIssuer;
      if (login === 'none') {
        http = { ...http, fetch: fetchByOrigin(serverUrl, http.fetch, fetch) };
        return http;
      }
      const send = withGrantedTokens({ server: name, url: serverUrl, login, grants, fetch, clock }, http.fetch);
      http = { ...http, fetch: send };
      return http;
    }
    return {
      async open(bounds) {
        const [{ openHttpSession }, sent] = await Promise.all([import('./session.ts'), connected()]);
        if (oauth?.grant === 'client_credentials' && authProvider === undefined) {
          const { ClientCredentialsProvider } = await import('@modelcontextprotocol/sdk/client/auth-extensions.js');
          authProvider ??= new ClientCredentialsProvider({
            clientId: oauth.client_id!,
            clientSecret: oauth.client_secret!,
            clientName: 'culvert',
            expectedIssuer: oauth.issuer!,
            ...(oauth.scope !== undefined && { scope: oauth.scope }),
          });
        }
        return openHttpSession(new URL(serverUrl), sent, { ...bounds, headers, authProvider, version });
      },
      async release() {
        await http?.close();
        await toIssuer?.close();
      },
    };
  }

  return followServices(() => parts.config().mcp.servers, open);
}

/** The operator named the address: it may be in the private network. */
function openApiOpener(api: HttpApi, proxyOf: ProxyOf): Pick<UpstreamParts, 'open' | 'release'> {
  let opened: Promise<{ server: OpenApiServer; transport: Transport }> | null = null;
  async function make() {
    const [{ OpenApiServer }, { createTransport }] = await Promise.all([
      import('./openapi/openapi-session.ts'),
      import('../../upstream/transport/send.ts'),
    ]);
    const transport = createTransport({ proxyOf, repeats: 'unsent' });
    return { server: new OpenApiServer(api, transport), transport };
  }
  return {
    async open(bounds) {
      opened ??= make();
      return (await opened).server.open(bounds);
    },
    async release() {
      (await opened)?.transport.destroy();
    },
  };
}

/** `required`: its configuration asks for one. `if-asked`: the server may want one. */
export function loginOf({ url, oauth, headers }: McpServerConfig): 'required' | 'if-asked' | 'none' {
  if (url === undefined) return 'none';
  if (oauth !== undefined) return oauth.grant === 'authorization_code' ? 'required' : 'none';
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization') ? 'none' : 'if-asked';
}

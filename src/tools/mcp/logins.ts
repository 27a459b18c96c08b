import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { AuthorizationFetchParts } from './authorization-fetch.ts';
import type { McpGrants } from './grants.ts';
import type { BegunLogin } from './login.ts';
import { loginOf } from './upstream-servers.ts';

/** Logins of operators at MCP servers. Everything throws a FailureError. */
export type McpLogins = ReturnType<typeof createMcpLogins>;

export interface FinishedLogin {
  server: string;
  by: string;
  issuer: string;
  scope: string | null;
}

export interface McpLoginsParts extends AuthorizationFetchParts {
  /** In force. */
  config(): Pick<Config, 'mcp'>;
  grants: McpGrants;
  /** Where browsers come back; a Failure: nobody knows. */
  redirectUri(): Promise<string | Failure>;
  clock: Clock;
}

/** The OAuth client is loaded with the first login. */
export function createMcpLogins(parts: McpLoginsParts) {
  const { config, grants, clock } = parts;

  return {
    /** `by`: the operator, as the audit log names them. */
    async begin(server: string, by: string): Promise<BegunLogin> {
      const settings = config().mcp.servers[server];
      const { url } = settings ?? {};
      if (settings === undefined || url === undefined) throw new FailureError(noLogin(server, 'has no URL'));
      if (loginOf(settings) === 'none') {
        const why =
          settings.oauth === undefined ? 'has an authorization header' : 'gets its tokens by client_credentials';
        throw new FailureError(noLogin(server, why));
      }
      const redirectUri = await parts.redirectUri();
      if (typeof redirectUri !== 'string') throw new FailureError(redirectUri);
      const [{ createAuthorizationFetch, writtenOrigins }, { beginLogin }] = await loaded();
      const http = createAuthorizationFetch(parts, writtenOrigins(settings));
      try {
        const target = { name: server, config: { ...settings, url }, redirectUri, fetch: http.fetch };
        return await beginLogin(target, grants, by, clock.wallMs());
      } finally {
        await http.close();
      }
    },
    /** `params`: what the browser brought back. Null: no login waits for it. Its tokens are kept when it resolves. */
    async finish(params: URLSearchParams): Promise<FinishedLogin | null> {
      const [{ createAuthorizationFetch, writtenOrigins }, { pendingLogin, finishLogin }] = await loaded();
      const pending = await pendingLogin(params, grants);
      if (pending === null) return null;
      const { server, by, issuer } = pending;
      const settings = config().mcp.servers[server];
      if (settings?.url !== pending.url || loginOf(settings) === 'none') {
        throw new FailureError(noLogin(server, 'was changed in the meantime'));
      }
      const http = createAuthorizationFetch(parts, writtenOrigins(settings));
      try {
        const grant = await finishLogin(pending, params, http.fetch, clock.wallMs());
        await grants.save(server, grant, by);
        return { server, by, issuer, scope: grant.scope };
      } finally {
        await http.close();
      }
    },
  };
}

function loaded() {
  return Promise.all([import('./authorization-fetch.ts'), import('./login.ts')]);
}

function noLogin(server: string, why: string): Failure {
  return { kind: 'conflict', message: `Nobody can log in at the MCP server '${server.slice(0, 64)}': it ${why}.` };
}

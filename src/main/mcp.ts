import type { Principal } from '../books/auth/principal.ts';
import { mayUseMcp } from '../books/metering/plan-book.ts';
import { writtenFacts } from '../config/data-rules.ts';
import { callbackAddress } from '../http/routes/mcp-login.ts';
import { openAgents } from '../inference/families/a2a/open-agents.ts';
import type { Snapshots } from '../inference/models/snapshot.ts';
import type { Clock } from '../kernel/clock.ts';
import type { ResolveAddresses } from '../net/fetch-guard.ts';
import { createMcpGrants, mcpGrantsPurpose } from '../tools/mcp/grants.ts';
import { createGuardedServers } from '../tools/mcp/guarded-servers.ts';
import { createMcpLogins, type FinishedLogin } from '../tools/mcp/logins.ts';
import type { Standing } from '../tools/mcp/service-health.ts';
import { createUpstreamServers } from '../tools/mcp/upstream-servers.ts';
import { createUpstreamTools } from '../tools/mcp/upstream-tools.ts';
import type { ProxyOf } from '../upstream/transport/proxy.ts';
import type { Books } from './books.ts';
import type { Callers } from './callers.ts';
import type { GatewayOptions } from './gateway-options.ts';

export type OpenedMcp = ReturnType<typeof openMcp>;

export interface McpParts {
  options: Pick<GatewayOptions, 'version' | 'log'>;
  services: { clock: Clock; readonly snapshots: Snapshots };
  books: Books;
  callers: Pick<Callers, 'plans'>;
  /** The proxies of the environment. */
  proxyOf: ProxyOf;
  /** Resolver of names in callers' URLs. */
  resolve: ResolveAddresses;
  /** Its address on this machine, once the server listens: what nobody waits for begins then. */
  listening: Promise<string>;
}

/** The MCP servers and agents of the configuration, and the way to those that callers name. */
export function openMcp(parts: McpParts) {
  const { options, services, books, callers, proxyOf, resolve, listening } = parts;
  const { version, log } = options;
  const { clock, snapshots } = services;
  const { plans } = callers;
  const config = () => snapshots.current.config;
  const rules = () => config().fetch;
  const sealer = () => books.secrets.sealer(mcpGrantsPurpose);
  const grants = createMcpGrants({ open: books.stores.mcpGrants, sealer, clock });
  const shared = { config, grants, rules, resolve, proxyOf, clock };
  function turned(which: object, what: string, standing: Standing): void {
    if (standing.at === 'down') log.warn({ ...which, reason: standing.why.message }, `${what} is down`);
    else log.info(which, `${what} is up`);
  }
  const servers = createUpstreamServers({
    ...shared,
    version,
    onTurn: (server, standing) => turned({ server }, 'an MCP server', standing),
  });
  function barred(principal: Principal, server: string) {
    const { config, models } = snapshots.current;
    const { data, url } = config.mcp.servers[server] ?? {};
    return models.barred(principal, writtenFacts(data, url), `MCP server '${server}'`);
  }
  const upstream = createUpstreamTools({
    servers,
    signer: books.secrets.signer('states of MCP calls'),
    mayUse: (principal, server, name) =>
      barred(principal, server) === null && mayUseMcp(plans().plan(principal.plan), principal, server, name),
    barred,
  });
  const agents = openAgents({
    ...{ clock, snapshots, plans, proxyOf, listening, signer: books.secrets.signer('agent tasks') },
    onTurn: (agent, standing) => turned({ agent }, 'an agent', standing),
  });
  const logins = createMcpLogins({ ...shared, redirectUri: () => callbackAddress(config().server, listening) });

  async function finish(params: URLSearchParams): Promise<FinishedLogin | null> {
    const finished = await logins.finish(params);
    if (finished === null) return null;
    const { server, by, issuer, scope } = finished;
    const audit = { atMs: clock.wallMs(), actor: by, action: 'mcp.login', subject: server, before: null };
    await books.stores.accounts.apply([], { ...audit, after: { issuer, scope } });
    await servers.get(server)?.lookAnew();
    return finished;
  }

  return {
    servers,
    /** Operations on them for operators. */
    operated: { mcp: { ...servers, ...logins }, mcpGrants: grants, agents: agents.load },
    /** Operations on them for callers. */
    upstream,
    /** Servers that callers name by URL. */
    guarded: createGuardedServers({ rules, resolve, version }),
    /** Ends an operator's login; null: nobody began it. */
    finish,
    agents,
    async close(): Promise<void> {
      await Promise.all([servers.close(), agents.close()]);
    },
  };
}

import type { Route } from '../http/exchange.ts';
import { mcpRoutes } from '../http/routes/mcp.ts';
import { mcpUpstreamRoutes } from '../http/routes/mcp-upstream.ts';
import { createToolMeter } from '../inference/metered/meter-tools.ts';
import { createGuardedServers, type GuardedServers } from '../mcp/guarded-servers.ts';
import { createUpstreamServers, type UpstreamServers } from '../mcp/upstream-servers.ts';
import { mayUseMcp } from '../metering/plan-book.ts';
import { createUpstreamTools, type UpstreamTools } from '../tools/mcp/upstream-tools.ts';
import type { RoutesParts } from './routes.ts';

export interface OpenedMcp {
  servers: UpstreamServers;
  /** What callers may use of them. */
  upstream: UpstreamTools;
  /** Servers that callers name by URL. */
  guarded: GuardedServers;
  /** `all`: the whole table, these routes among it. */
  routes(all: () => readonly Route[]): readonly Route[];
  close(): Promise<void>;
}

type McpParts = Pick<RoutesParts, 'options' | 'services' | 'callers' | 'proxyOf' | 'resolve' | 'onUnexpected'>;

/** `/mcp`, and the MCP servers of the configuration behind it. */
export function openMcp({ options, services, callers, proxyOf, resolve, onUnexpected }: McpParts): OpenedMcp {
  const { version, log } = options;
  const { clock, admission, snapshot } = services;
  const { plans } = callers;
  const servers = createUpstreamServers({
    config: () => snapshot().config,
    proxyOf,
    version,
    clock,
    onTurn(server, standing) {
      if (standing.at === 'down') log.warn({ server, reason: standing.why.message }, 'an MCP server is down');
      else log.info({ server }, 'an MCP server is up');
    },
  });
  const upstream = createUpstreamTools({
    servers,
    mayUse: (principal, server, name) => mayUseMcp(plans().plan(principal.plan), principal, server, name),
  });
  const rules = () => snapshot().config.fetch;
  return {
    servers,
    upstream,
    guarded: createGuardedServers({ rules, resolve, version }),
    routes: (all) => [
      ...mcpRoutes({ routes: all, admission, clock, version, upstream, onUnexpected }),
      ...mcpUpstreamRoutes({ upstream, meter: createToolMeter(services) }),
    ],
    close: servers.close,
  };
}

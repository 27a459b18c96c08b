import { identityHeaders } from '../../delivery.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
import { openRoute } from '../key-route.ts';
import { writeFrontPage } from './front-page.ts';
import type { HealthParts } from './health.ts';

export interface StatusParts extends HealthParts {
  /** Culvert's own. */
  version: string;
  /** Whether there is a dashboard, for browsers that ask for `/`. */
  dashboard: boolean;
}

/** Whether this process lives and can serve. It needs no key, so it shows nothing of models, keys or providers. */
export function statusRoutes(parts: StatusParts): Route[] {
  return [
    openRoute('GET /healthz', 'Whether the process is alive', (exchange) => writeJson(exchange, 200, { status: 'ok' })),
    openRoute('GET /readyz', 'Whether the server can serve', (exchange) => ready(parts, exchange)),
    openRoute('GET /', 'What this is, for people', (exchange) =>
      writeFrontPage(exchange, parts, parts.services.snapshots.current.config.server),
    ),
    openRoute('HEAD /api/hello', 'For Claude Code, which asks for it at its start', hello),
  ];
}

function ready({ services, draining, storeTrouble }: StatusParts, exchange: Exchange): void {
  const targets = services.snapshots.current.models.namedTargets();
  const healthy = services.health.status(targets, services.clock.monotonicMs()) !== 'down';
  const checks = { accepting: !draining(), stores: storeTrouble() === null, targets: targets.length > 0 && healthy };
  const ok = checks.accepting && checks.stores && checks.targets;
  writeJson(exchange, ok ? 200 : 503, { status: ok ? 'ready' : 'not ready', checks });
}

/** Claude Code knocks here at its start. */
function hello(exchange: Exchange): void {
  exchange.response.writeHead(200, [...identityHeaders(exchange), 'content-length', '0']);
  exchange.response.end();
}

import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { identityHeaders } from '../../delivery.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
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
  const open = { auth: 'none', quota: 'none', dialect: openAiChat } as const;
  return [
    {
      ...open,
      method: 'GET',
      path: '/healthz',
      summary: 'Whether the process is alive',
      handle: (exchange) => writeJson(exchange, 200, { status: 'ok' }),
    },
    {
      ...open,
      method: 'GET',
      path: '/readyz',
      summary: 'Whether the server can serve',
      handle: (exchange) => ready(parts, exchange),
    },
    {
      ...open,
      method: 'GET',
      path: '/',
      summary: 'What this is, for people',
      handle: (exchange) => writeFrontPage(exchange, parts, parts.services.snapshots.current.config.server),
    },
    {
      ...open,
      method: 'HEAD',
      path: '/api/hello',
      summary: 'For Claude Code, which asks for it at its start',
      handle: hello,
    },
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

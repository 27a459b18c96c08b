import type { Services } from '../../../inference/endpoints/services.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
import { keyRoute, openRoute } from '../key-route.ts';

export interface HealthParts {
  services: Services;
  /** The server is shutting down. */
  draining(): boolean;
  /** Why the stores cannot be used, in words; null when they work. */
  storeTrouble(): string | null;
}

/**
 * LiteLLM's probes. `/health` tells of the models of a key what is known of their health, and asks no provider.
 * The others need no key, as orchestrators have none, and show nothing of models, keys or providers.
 */
export function healthRoutes(parts: HealthParts): Route[] {
  const alive = (exchange: Exchange) => writeJson(exchange, 200, "I'm alive!");
  return [
    openRoute('GET /health/liveliness', 'Whether the process is alive, in the format of LiteLLM', alive),
    openRoute('GET /health/liveness', 'Whether the process is alive, in the format of LiteLLM', alive),
    openRoute('GET /health/readiness', 'Whether the server takes requests, in the format of LiteLLM', (exchange) =>
      ready(parts, exchange),
    ),
    keyRoute('GET /health', 'free', {
      summary: 'Health of the models of the key, in the format of LiteLLM',
      handle: (exchange) => describe(parts.services, exchange),
    }),
  ];
}

function ready({ draining, storeTrouble }: HealthParts, exchange: Exchange): void {
  const stored = storeTrouble() === null;
  const ok = stored && !draining();
  const db = stored ? 'connected' : 'Not connected';
  writeJson(exchange, ok ? 200 : 503, { status: ok ? 'healthy' : 'unhealthy', db });
}

function describe({ snapshots, health, clock }: Services, exchange: Exchange): void {
  const nowMs = clock.monotonicMs();
  const models = snapshots.current.models.list(callerOf(exchange));
  const isHealthy = ({ candidates }: (typeof models)[number]) =>
    candidates.length > 0 &&
    health.status(
      candidates.map(({ target }) => target),
      nowMs,
    ) !== 'down';
  const healthy = models.filter(isHealthy).map(({ id: model }) => ({ model }));
  const unhealthy = models.filter((alias) => !isHealthy(alias)).map(({ id: model }) => ({ model }));
  writeJson(exchange, 200, {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
  });
}

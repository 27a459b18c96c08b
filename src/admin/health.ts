import { z } from 'zod';
import { lanesByProvider, providerStatus, providerStatusField } from './entries/provider-status.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

const healthSchema = z.object({
  status: z.enum(['ok', 'degraded', 'down']).describe('down: nothing can be served.'),
  version: z.string(),
  at: z.string(),
  parts: z
    .array(z.object({ name: z.string(), ok: z.boolean(), trouble: z.string().nullable() }))
    .describe('The parts that this process depends on.'),
  providers: z.record(z.string(), providerStatusField),
  models: z.int().describe('Number of models that callers can use.'),
  unheard: z.array(z.string()).describe('Providers whose list of models could not be read yet.'),
});

/** `/health`: why a server is not ready, for people. */
export function healthOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /health',
      area: 'health',
      summary: 'Returns the state of the stores, counters and providers of the process that answers.',
      reply: healthSchema,
      run: () => healthOf(parts),
    }),
  ];
}

function healthOf({ clock, version, snapshots, health, troubles }: AdminParts): z.input<typeof healthSchema> {
  const { models, providers } = snapshots.current;
  const nowMs = clock.monotonicMs();
  const targets = models.targets();
  const byProvider = Map.groupBy(targets, ({ provider }) => provider);
  const lanes = lanesByProvider(health, nowMs);
  const statuses = [...providers.keys()].map((name) => {
    return [name, providerStatus(health, byProvider.get(name) ?? [], lanes.get(name) ?? [], nowMs)] as const;
  });
  const stores = Object.entries(troubles()).map(([name, trouble]) => ({ name, ok: trouble === null, trouble }));
  const named = models.namedTargets();
  const served = named.length > 0 && health.status(named, nowMs) !== 'down';
  const broken = !served || stores.some(({ ok }) => !ok);
  const ill = statuses.some(([, status]) => status !== 'healthy') || models.unheard.length > 0;
  return {
    status: broken ? 'down' : ill ? 'degraded' : 'ok',
    version,
    at: new Date(clock.wallMs()).toISOString(),
    parts: stores,
    providers: Object.fromEntries(statuses),
    models: models.all().length,
    unheard: [...models.unheard],
  };
}

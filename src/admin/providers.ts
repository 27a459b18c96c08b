import { z } from 'zod';
import type { ConfiguredProvider } from '../inference/pipeline/connections.ts';
import { lookAtProvider } from '../inference/pipeline/live-look.ts';
import type { LaneSnapshot } from '../inference/routing/health-snapshot.ts';
import { healthField, listOf, noQuery, pageFields, timeField } from './fields.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';

const laneSchema = z.object({
  model: z.string().describe('Upstream model id.'),
  state: z
    .enum(['ready', 'cooling', 'open', 'due', 'probing'])
    .describe(
      'cooling: rate-limited upstream; open: its breaker is; due: the next request tests it; probing: one does.',
    ),
  back_at: timeField.nullable(),
  why: z.string().nullable(),
  in_flight: z.int(),
  first_token_ms: z.number().nullable(),
  succeeded: z.int().describe('Attempts of the last 60 s.'),
  failed: z.int().describe('Attempts of the last 60 s.'),
});

const providerSchema = z.object({
  name: z.string(),
  type: z.string(),
  base_url: z.string().describe('Without user, password and query.'),
  simulated: z.boolean().describe('The zero-key simulator.'),
  status: healthField.describe('Of all its targets together; one that was never tried is healthy.'),
  models: z.int().describe('Targets that models of the configuration name here.'),
  credentials: z.array(
    z.object({
      id: z.string().describe('provider#0, provider#1… in the order of the configuration; never the secret.'),
      lanes: z.array(laneSchema).describe('Models that requests were sent to with it.'),
    }),
  ),
});

const testSchema = z.object({
  ok: z.boolean(),
  data: z.array(
    z.object({
      credential: z.string(),
      verdict: z.enum(['ok', 'not listed', 'bad credential', 'unreachable', 'failed']),
      message: z.string(),
      models: z.int().describe('How many models it lists.'),
      ms: z.int(),
    }),
  ),
});

/** `/providers`: what is known of upstreams right now. */
export function providerOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      method: 'GET',
      path: '/providers',
      summary: 'Providers with the live health of their credentials.',
      query: z.strictObject(pageFields),
      body: null,
      reply: listOf(providerSchema),
      run({ query }) {
        const { providers } = parts.snapshot();
        const ordered = inOrderOf([...providers.values()], nameOf);
        const page = pageByText(ordered, nameOf, query);
        const show = showing(parts);
        return { data: page.rows.map(show), next_cursor: page.next };
      },
    }),
    jsonOperation({
      method: 'POST',
      path: '/providers/{name}/test',
      summary: 'Asks a provider for its list of models now, once with each credential. Costs no tokens.',
      query: noQuery,
      body: null,
      reply: testSchema,
      async run({ params }) {
        const provider = parts.snapshot().providers.get(params.name);
        if (provider === undefined) {
          return refuse({ kind: 'not-found', message: `There is no provider '${params.name.slice(0, 64)}'.` });
        }
        const looks = await lookAtProvider(parts.transport, provider.connection);
        return {
          ok: looks.every(({ verdict }) => verdict === 'ok' || verdict === 'not listed'),
          data: looks.map(({ provider: _provider, ...look }) => look),
        };
      },
    }),
  ];
}

function nameOf({ connection }: ConfiguredProvider): string {
  return connection.name;
}

/** Health is looked at once for all the providers of an answer. */
function showing({
  health,
  clock,
  snapshot,
}: AdminParts): (provider: ConfiguredProvider) => z.input<typeof providerSchema> {
  const nowMs = clock.monotonicMs();
  const lanes = Map.groupBy(health.snapshot(nowMs), ({ credential }) => credential);
  const targets = Map.groupBy(snapshot().models.targets(), ({ provider }) => provider);
  return ({ connection, config, simulated }) => {
    const own = targets.get(connection.name) ?? [];
    return {
      name: connection.name,
      type: config.type,
      base_url: `${connection.origin}${connection.basePath}`,
      simulated,
      status: own.length === 0 ? 'healthy' : health.status(own, nowMs),
      models: new Set(own.map(({ id }) => id)).size,
      credentials: [...connection.credentials.keys()].map((id) => ({
        id,
        lanes: (lanes.get(id) ?? []).map((lane) => shownLane(lane, connection.name, (ms) => health.wallMs(ms))),
      })),
    };
  };
}

function shownLane(lane: LaneSnapshot, provider: string, wallMs: (monotonicMs: number) => number) {
  return {
    model: lane.target.slice(provider.length + 1),
    state: lane.standing === 'full' ? ('ready' as const) : lane.standing,
    back_at: lane.backAtMs === null ? null : new Date(wallMs(lane.backAtMs)).toISOString(),
    why: lane.why,
    in_flight: lane.inFlight,
    first_token_ms: lane.firstTokenMs === null ? null : Math.round(lane.firstTokenMs),
    succeeded: lane.succeeded,
    failed: lane.failed,
  };
}

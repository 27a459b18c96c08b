import { z } from 'zod';
import type { CredentialRow, EntryRow } from '../../books/auth/account-store.ts';
import { fragmentKey } from '../../config/merge-stored.ts';
import { providerTypes } from '../../formats/providers/catalog.ts';
import type { ConfiguredProvider } from '../../inference/models/connections.ts';
import type { LaneSnapshot } from '../../routing/health-snapshot.ts';
import type { EngineState } from '../../tools/search/engine-operator.ts';
import { timeField } from '../fields.ts';
import type { AdminParts } from '../parts.ts';
import { credentialsIn, type EntryRecords, type EntryRows, rowIn } from './entry-records.ts';
import { lanesByProvider, providerStatus, providerStatusField } from './provider-status.ts';
import { entryNamed, shownStored, storedFields } from './stored-fields.ts';

const laneSchema = z.object({
  model: z.string().describe('Upstream model id.'),
  state: z
    .enum(['ready', 'cooling', 'open', 'refused', 'due', 'probing'])
    .describe(
      'cooling: rate-limited by the provider; open: not asked for a while; refused: it refused a connection within the last second; due: the next request tests it; probing: a request is testing it.',
    ),
  back_at: timeField.nullable(),
  why: z.string().nullable(),
  in_flight: z.int(),
  first_token_ms: z.number().nullable(),
  success_share: z
    .number()
    .describe('Score that picking derives from the last minute and the last few attempts, 0 to 1.'),
  succeeded: z.int().describe('Attempts of the last 60 s.'),
  failed: z.int().describe('Attempts of the last 60 s.'),
});

export const providerSchema = z.object({
  name: z.string().describe('A search engine: search: and its name.'),
  serves: z.enum(['models', 'search']),
  type: z.string(),
  base_url: z.string().describe('Without user, password and query.'),
  simulated: z.boolean().describe('The zero-key simulator.'),
  status: providerStatusField,
  unheard: z
    .boolean()
    .describe(
      'Its list of models could not be read yet: callers cannot name its models, but for those of the configuration.',
    ),
  models: z.int().describe('Number of targets that models of the configuration have here; 0 for a search engine.'),
  credentials: z.array(
    z.object({
      id: z.string().describe('provider#0, provider#1… in the order of the configuration, or provider#id.'),
      hint: z.string().nullable().describe('Its last characters, if it is stored. The secret is shown nowhere.'),
      made_at: timeField.nullable(),
      made_by: z.string().nullable(),
      lanes: z
        .array(laneSchema)
        .describe('Models that requests with it were sent to; for a search engine one, search.'),
    }),
  ),
  ...storedFields,
});
export type ProviderReply = z.output<typeof providerSchema>;

/** The provider as the list shows it. Refuses an unknown name. */
export async function shownProvider(
  parts: AdminParts,
  entryRecords: EntryRecords,
  name: string,
): Promise<ShownProvider> {
  return entryNamed('provider', shownProviders(parts, await entryRecords.rows()), name);
}

export function shownProviders(parts: AdminParts, rows: EntryRows): ShownProvider[] {
  const { providers } = parts.snapshots.current;
  const show = showing(parts, rows);
  return [
    ...[...providers.values()].map(show),
    ...rows.entries
      .filter(({ kind, name }) => kind === 'provider' && !providers.has(name))
      .map((row) => shownUnused(parts, rows, row)),
    ...parts.engines.list().map((one) => shownEngine(one, parts)),
  ];
}

export type ShownProvider = z.input<typeof providerSchema>;

/** No provider's name holds a colon. */
export const enginePrefix = 'search:';

/** A kept one that is not in use. */
function shownUnused(parts: AdminParts, rows: EntryRows, row: EntryRow): ShownProvider {
  const type = String(row.definition.type ?? '');
  return {
    name: row.name,
    serves: 'models',
    type,
    base_url: String(row.definition.base_url ?? providerTypes.get(type)?.baseUrl ?? ''),
    simulated: false,
    status: 'down',
    unheard: false,
    models: 0,
    credentials: credentialsIn(rows, row.name).map((credential) => ({ ...storedCredential(credential), lanes: [] })),
    ...shownStored(parts, 'kept', row),
  };
}

function storedCredential({ provider, id, hint, createdMs, createdBy }: CredentialRow) {
  return { id: `${provider}#${id}`, hint, made_at: new Date(createdMs).toISOString(), made_by: createdBy };
}

function shownEngine({ name, type, baseUrl, status, lane }: EngineState, parts: AdminParts): ShownProvider {
  const { health, setup } = parts;
  const wallMs = (ms: number) => health.wallMs(ms);
  const lanes = lane === null ? [] : [{ ...shownLane(lane, name, wallMs), model: 'search' }];
  return {
    name: enginePrefix + name,
    serves: 'search',
    type,
    base_url: baseUrl,
    simulated: false,
    status,
    unheard: false,
    models: 0,
    credentials: [{ id: `${name}#0`, ...unkept, lanes }],
    ...shownStored(parts, setup.file().tools.search.providers.length > 0 ? 'file' : 'detected', null),
  };
}

/** Health is looked at once for all the providers of an answer. */
function showing(parts: AdminParts, rows: EntryRows): (provider: ConfiguredProvider) => ShownProvider {
  const { health, clock, snapshots, setup } = parts;
  const inFile = setup.file().providers;
  const nowMs = clock.monotonicMs();
  const allLanes = lanesByProvider(health, nowMs);
  const targets = Map.groupBy(snapshots.current.models.targets(), ({ provider }) => provider);
  const unheardOf = new Set(snapshots.current.models.unheard);
  return ({ connection, config, simulated }) => {
    const { name } = connection;
    const unheard = unheardOf.has(name);
    const providerTargets = targets.get(name) ?? [];
    const lanes = Map.groupBy(allLanes.get(name) ?? [], ({ credential }) => credential);
    const row = rowIn(rows, 'provider', name);
    const inUse = row !== null && !setup.report().shadowed.has(fragmentKey(row));
    const source = Object.hasOwn(inFile, name) ? 'file' : inUse ? 'kept' : simulated ? 'built-in' : 'detected';
    const known = new Map(inUse ? credentialsIn(rows, name).map((each) => [`${name}#${each.id}`, each]) : []);
    return {
      name,
      serves: 'models',
      type: config.type,
      base_url: `${connection.origin}${connection.basePath}`,
      simulated,
      status: providerStatus(health, providerTargets, allLanes.get(name) ?? [], nowMs, unheard),
      unheard,
      models: new Set(providerTargets.map(({ id }) => id)).size,
      credentials: [...connection.credentials.keys()].map((id) => {
        const credential = known.get(id);
        return {
          ...(credential === undefined ? { id, ...unkept } : storedCredential(credential)),
          lanes: (lanes.get(id) ?? []).map((lane) => shownLane(lane, name, (ms) => health.wallMs(ms))),
        };
      }),
      ...shownStored(parts, source, row),
    };
  };
}

const unkept = { hint: null, made_at: null, made_by: null };

function shownLane(lane: LaneSnapshot, provider: string, wallMs: (monotonicMs: number) => number) {
  return {
    model: lane.target.slice(provider.length + 1),
    state: lane.standing === 'full' ? ('ready' as const) : lane.standing,
    back_at: lane.backAtMs === null ? null : new Date(wallMs(lane.backAtMs)).toISOString(),
    why: lane.why,
    in_flight: lane.inFlight,
    first_token_ms: lane.firstTokenMs === null ? null : Math.round(lane.firstTokenMs),
    success_share: Math.round(lane.successShare * 1_000) / 1_000,
    succeeded: lane.succeeded,
    failed: lane.failed,
  };
}

import { z } from 'zod';
import type { SeenProcess } from '../books/metering/replicas.ts';
import { listOf, pageFields, timeField } from './fields.ts';
import type { Finding } from './finding.ts';
import { jsonOperation, type Operation } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';

/** Heartbeats come every five seconds at most. */
const silentAfterMs = 15_000;

const processRow = z.object({
  id: z.string(),
  replica: z.string().nullable().describe('Its server: workers of one server have the same.'),
  worker: z.int().nullable().describe('Its place among the workers of `server.processes`; null: the only process.'),
  host: z.string().nullable(),
  pid: z.int().nullable(),
  version: z.string().nullable(),
  started_at: timeField.nullable(),
  state: z
    .enum(['serving', 'draining', 'silent', 'gone', 'unknown'])
    .describe(
      'draining: it ends after its requests. silent: no heartbeat for 15 s. gone: it has ended within the last ten minutes, or was silent for 30 s. unknown: it starts, or is of a version that tells nothing.',
    ),
  configuration: z
    .string()
    .nullable()
    .describe('A fingerprint: equal where the configuration in force and the secrets are.'),
  differs: z.array(z.enum(['version', 'configuration'])).describe('What it has otherwise than most live processes.'),
  requests: z.int().nullable().describe('Requests under way.'),
  busy: z.number().nullable().describe('Share of the time that its loop was busy, 0 to 1.'),
  loop_delay_ms: z.number().nullable().describe('How long a turn of its loop took.'),
  memory_bytes: z.int().nullable(),
  seen_at: timeField.describe('Its last heartbeat, ISO 8601, UTC.'),
});

export type ProcessRow = z.output<typeof processRow>;

/** `/cluster`: the processes that share the stores. */
export function clusterOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /cluster',
      area: 'settings',
      summary: 'Lists replicas and their workers: version, configuration, load, state and last heartbeat.',
      query: z.strictObject(pageFields),
      reply: listOf(processRow),
      async run({ query }) {
        const rows = rowsOf(await parts.processes(), parts.clock.wallMs());
        const textOf = ({ id, host, replica, worker }: ProcessRow) =>
          [host, replica, String(worker ?? 0).padStart(4, '0'), id].join(' ');
        const page = pageByText(inOrderOf(rows, textOf), textOf, query);
        return { data: [...page.rows], next_cursor: page.next };
      },
    }),
  ];
}

function rowsOf(seen: readonly SeenProcess[], nowMs: number): ProcessRow[] {
  const common = { version: commonIn(seen, 'version'), configuration: commonIn(seen, 'configuration') };
  return seen.map(({ id, facts, seenMs, over }) => {
    const silent = nowMs - seenMs > silentAfterMs ? 'silent' : (facts?.state ?? 'unknown');
    const differs = (['version', 'configuration'] as const).filter(
      (of) => facts !== null && !over && facts[of] !== common[of],
    );
    return {
      id,
      replica: facts?.replica ?? null,
      worker: facts?.worker ?? null,
      host: facts?.host ?? null,
      pid: facts?.pid ?? null,
      version: facts?.version ?? null,
      started_at: facts === null ? null : new Date(facts.startedMs).toISOString(),
      state: over ? 'gone' : silent,
      configuration: facts?.configuration ?? null,
      differs,
      requests: facts?.requests ?? null,
      busy: facts?.busy ?? null,
      loop_delay_ms: facts?.loopDelayMs ?? null,
      memory_bytes: facts?.memoryBytes ?? null,
      seen_at: new Date(seenMs).toISOString(),
    };
  });
}

/** Value that more than half of the live processes share; null: there is no such value. */
function commonIn(seen: readonly SeenProcess[], of: 'version' | 'configuration'): string | null {
  const values = seen.flatMap(({ facts, over }) => (facts === null || over ? [] : [facts[of]]));
  for (const [value, all] of Map.groupBy(values, (each) => each)) if (all.length * 2 > values.length) return value;
  return null;
}

/** Findings for the doctor: workers that died, and replicas of a different version or configuration. */
export function clusterFindings(seen: readonly SeenProcess[], nowMs: number): Finding[] {
  const rows = rowsOf(seen, nowMs);
  const named = (of: 'version' | 'configuration') =>
    rows
      .filter(({ differs }) => differs.includes(of))
      .slice(0, namedMax)
      .map(({ host, pid, version }) => `${host} (pid ${pid}${of === 'version' ? `, ${version}` : ''})`);
  const found = (of: 'version' | 'configuration', message: string, fix: string): Finding[] => {
    const which = named(of);
    if (which.length === 0) return [];
    return [
      { check: 'replicas', state: 'warning', message: `${message}: ${which.join(', ')}. See culvert cluster.`, fix },
    ];
  };
  return [
    ...deathFindings(rows),
    ...found('version', 'These replicas run another version than the others', 'Upgrade them all to one version.'),
    ...found(
      'configuration',
      'These replicas have another configuration than the others',
      'Give all replicas the same file, environment and storage.secret, and reload them.',
    ),
  ];
}

/** Replicas or workers that one finding names. */
const namedMax = 10;

/** Workers are started again, so one that dies every quarter of a minute would show in the log alone. */
function deathFindings(rows: readonly ProcessRow[]): Finding[] {
  const serving = new Set(rows.flatMap(({ replica, state }) => (state === 'serving' ? [replica] : [])));
  // Those of a server that ends are no deaths.
  const dead = rows.filter(({ worker, state, replica }) => worker !== null && state === 'gone' && serving.has(replica));
  if (dead.length === 0) return [];
  const named = [...Map.groupBy(dead, ({ host, worker }) => `${worker} of ${host}`)].map(([which, deaths]) =>
    deaths.length === 1 ? which : `${which} (${deaths.length} times)`,
  );
  const message = `Workers died within the last ten minutes: ${named.slice(0, namedMax).join(', ')}. See culvert cluster.`;
  return [{ check: 'workers', state: 'warning', message, fix: 'See the log for the cause.' }];
}

import { join } from 'node:path';
import type { Finding } from '../../admin/finding.ts';
import type { SinkStanding } from '../../books/metering/record-delivery.ts';
import type { HostedFiles } from '../../inference/families/images/hosted-files.ts';
import type { Snapshot, Snapshots } from '../../inference/models/snapshot.ts';
import type { Clock } from '../../kernel/clock.ts';
import { secretBytesMin } from '../../kernel/seal.ts';
import type { DataFolder } from '../../stores/sqlite/data-folder.ts';
import type { Standing } from '../../tools/mcp/service-health.ts';
import type { UpstreamServer } from '../../tools/mcp/upstream-server.ts';
import type { UpstreamServers } from '../../tools/mcp/upstream-servers.ts';
import { capabilityFindings, toolFindings } from './capabilities.ts';
import { ok, problem, warning } from './finding.ts';
import { diskFinding, folderFinding, newestFileMs, secretFileFinding } from './folder.ts';
import { clockFinding, nodeFinding, processesFinding } from './machine.ts';
import { providerFindings } from './providers.ts';

/** A sink that is not this far behind is in time, whatever `every` is. */
const sinkLateMs = 15 * 60_000;

/**
 * Findings of `culvert doctor`, as checked by a running server: its stores report themselves, so nothing is opened
 * twice. `admin/wrong` adds problems that requests run into, such as a provider that is down.
 */
export function runningFindings({
  folder,
  snapshots,
  troubles,
  sinks,
  files,
  mcp,
  workers,
  overload,
  budgeted,
  clock,
}: {
  folder: DataFolder;
  readonly snapshots: Snapshots;
  troubles(): Readonly<Record<string, string | null>>;
  sinks(): readonly SinkStanding[];
  files: Pick<HostedFiles, 'trouble'>;
  mcp: { servers: Pick<UpstreamServers, 'all'>; agents: { loaded(): readonly SeenAgent[] } };
  /** Why not all workers of `server.processes` serve; null: they do, or there is one process. */
  workers: string | null;
  /** Why the process that keeps their books holds them up; null: it does not. */
  overload: string | null;
  /** Globs of the models whose requests a budget in USD counts. */
  budgeted: ReadonlySet<string>;
  clock: Clock;
}): Finding[] {
  const snapshot = snapshots.current;
  const { config } = snapshot;
  const { admin, storage } = config;
  const stores = Object.entries(troubles()).map(([name, trouble]) =>
    trouble === null
      ? ok(name, 'in use')
      : problem(name, trouble, 'See the log. Requests are refused until it is repaired.'),
  );
  const secrets = [
    ...(admin.key === undefined
      ? [secretFileFinding('admin key', join(folder.path, 'admin.key'), { bytesMin: secretBytesMin, made: 'none' })]
      : []),
    ...(storage.secret === undefined
      ? [secretFileFinding('storage secret', join(folder.path, 'secret'), { bytesMin: secretBytesMin, made: 'none' })]
      : []),
    ...(storage.database !== 'sqlite' && storage.secret === undefined
      ? [warning('storage secret', 'every replica creates its own', 'Set storage.secret, the same for all replicas.')]
      : []),
  ];
  return [
    nodeFinding(process.versions.node),
    clockFinding(clock.wallMs(), newestFileMs(folder)),
    folderFinding(folder),
    diskFinding(folder, storage.reserve ?? null),
    ...secrets,
    ...stores,
    ...(workers === null ? [] : [problem('workers', workers, 'See the log for the cause, then restart Culvert.')]),
    ...processesFinding(config),
    ...(overload === null ? [] : [warning('books', overload, overloadFix)]),
    ...sinks().map(sinkFinding),
    ...(storage.files === 'local' ? [] : [bucketFinding(files.trouble())]),
    ...providerFindings(snapshot, [], budgeted),
    ...mcp.servers.all().map(mcpFinding),
    ...mcp.agents.loaded().map(agentFinding),
  ];
}

const overloadFix =
  'Set storage.database to PostgreSQL and storage.state to Redis, or server.processes to a smaller number.';

function bucketFinding(trouble: string | null): Finding {
  const fix = 'Correct storage.files or storage.s3. Until then pictures by URL are refused.';
  return trouble === null ? ok('bucket', 'stores pictures by URL') : problem('bucket', trouble, fix);
}

/** Its tools fail meanwhile; models and keys go on. */
function mcpFinding({ name, standing }: UpstreamServer): Finding {
  const check = `mcp ${name}`;
  if (standing.at === 'unknown') return ok(check, 'not checked yet');
  if (standing.at === 'up') return ok(check, 'offers its tools');
  const { reason, message } = standing.why;
  const fix =
    reason === 'needs-login'
      ? `Run \`culvert mcp-servers login ${name}\`, and open the address in a browser.`
      : 'Look at the server, or at its entry under mcp.servers. Calls of its tools fail meanwhile.';
  return { ...warning(check, `The MCP server ${name} ${message}.`, fix), page: 'mcp-servers', id: name };
}

interface SeenAgent {
  name: string;
  standing: Standing;
}

/** Messages to it fail meanwhile; models and keys go on. */
function agentFinding({ name, standing }: SeenAgent): Finding {
  const check = `agent ${name}`;
  if (standing.at === 'unknown') return ok(check, 'not checked yet');
  if (standing.at === 'up') return ok(check, 'has a card');
  const fix = 'Look at the agent, or at its entry under agents. Messages to it fail meanwhile.';
  return warning(check, `The agent ${name} ${standing.why.message}.`, fix);
}

/** Records wait in the ledger, and are gone with `storage.retention`. */
function sinkFinding({ name, at, why, lagMs }: SinkStanding): Finding {
  const check = `sink ${name}`;
  const behind = `its oldest record has waited for ${waited(lagMs)}`;
  if (at === 'failing')
    return warning(check, `takes no records, ${behind}: ${why}`, 'Repair it before storage.retention ends.');
  if (lagMs >= sinkLateMs) return warning(check, `falls behind, ${behind}`, 'Give it larger batches (batch_records).');
  return ok(check, at === 'elsewhere' ? 'another process sends' : 'gets its records');
}

/** Reports who answers for each capability, and which programs it has. */
export function runningCapabilities(snapshot: Snapshot): Finding[] {
  return [...capabilityFindings(snapshot), ...toolFindings(process.env.PATH ?? '', snapshot.config)];
}

function waited(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

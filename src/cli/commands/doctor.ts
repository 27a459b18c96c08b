import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DoctorReply } from '../../admin/doctor.ts';
import { isLoopback } from '../../config/loopback-host.ts';
import { formatProblem } from '../../config/problem.ts';
import type { Config } from '../../config/schema.ts';
import { probeGet } from '../../formats/providers/probe-get.ts';
import { probeLocalServers } from '../../formats/providers/probe-local.ts';
import { systemClock } from '../../kernel/clock.ts';
import { culvert } from '../../kernel/command-form.ts';
import { secretBytesMin } from '../../kernel/seal.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { SchemaState } from '../../stores/migration.ts';
import { type DataFolder, dataFolderAt } from '../../stores/sqlite/data-folder.ts';
import { lockOwner } from '../../stores/sqlite/data-folder-lock.ts';
import type { Damage } from '../../stores/sqlite/integrity.ts';
import { adminKey, overHttp, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { capabilityFindings, toolFindings } from '../doctor/capabilities.ts';
import { type Finding, ok, problem, warning } from '../doctor/finding.ts';
import { diskFinding, folderFinding, newestFileMs, secretFileFinding } from '../doctor/folder.ts';
import { clockFinding, nodeFinding, processesFinding, skewFinding } from '../doctor/machine.ts';
import { liveFindings, localFindings, providerFindings } from '../doctor/providers.ts';
import { portFinding, serverFinding } from '../doctor/serving.ts';
import type { LocalFlags } from '../options.ts';
import type { CliParts, StoreFacts } from '../parts.ts';
import { listForm, print, printJson } from '../print.ts';
import { createProgress, type Progress } from '../progress.ts';
import { loadHere, shownSource } from '../read-config.ts';
import { aligned } from '../table.ts';

export interface DoctorFlags extends LocalFlags {
  live?: boolean;
  url?: string;
}

/** `culvert doctor`: looks at everything a start needs, changes nothing. 1 when something would keep it from serving. */
export async function doctor(flags: DoctorFlags, parts: CliParts): Promise<number> {
  const elsewhere = serverElsewhere(flags);
  if (elsewhere !== null) return doctorOf({ ...flags, url: elsewhere }, parts);
  const progress = createProgress(flags, 'blocks');
  const findings: Finding[] = [nodeFinding(process.versions.node)];
  const { file, result } = loadHere(flags.config);
  const shown = shownSource(file);
  if (result.ok) {
    findings.push(ok('config', shown));
    // Providers without a credential have findings below.
    for (const each of result.warnings.filter(({ path }) => !path.startsWith('providers.')))
      findings.push(warning('config', formatProblem(each), each.fix));
    for (const message of await parts.startRefusals(result.config))
      findings.push(problem('start', `${message}.`, 'A start is refused until then.'));
    findings.push(...(await serverFindings(result.config, flags, parts, progress)));
  } else {
    for (const each of result.errors)
      findings.push(problem('config', formatProblem(each), `Correct it, then run ${culvert} check.`));
  }
  return reported(flags, parts.version, findings);
}

/** Server that is named by `--url`, or by CULVERT_URL on another machine; null: this machine is looked at. */
function serverElsewhere({ url }: DoctorFlags): string | null {
  if (url !== undefined) return url;
  const named = process.env.CULVERT_URL ?? '';
  return URL.canParse(named) && !isLoopback(new URL(named).hostname.replace(/^\[|\]$/g, '')) ? named : null;
}

/** Findings of a server on itself. */
async function doctorOf(flags: DoctorFlags, parts: CliParts): Promise<number> {
  if (flags.live) throw new CommandFailed('--live works on the machine of the server. Run it there.', 2);
  return withAdmin(flags, parts, async (admin) => {
    const { version, findings } = (await admin.request('GET', '/doctor')) as DoctorReply;
    return reported(flags, version, [ok('server', `answers at ${admin.server}`), ...findings]);
  });
}

/** Prints the findings. 1 when there is a problem among them. */
function reported(flags: DoctorFlags, version: string, findings: readonly Finding[]): number {
  const sick = findings.some(({ state }) => state === 'problem');
  if (listForm(flags) === 'json') printJson({ ok: !sick, version, findings });
  else print(report(findings));
  return sick ? 1 : 0;
}

async function serverFindings(
  config: Config,
  flags: DoctorFlags,
  parts: CliParts,
  progress: Progress,
): Promise<Finding[]> {
  const folder = dataFolderAt(config.storage.data_dir);
  const standing = folderFinding(folder);
  const findings = [
    clockFinding(Date.now(), newestFileMs(folder)),
    standing,
    diskFinding(folder, config.storage.reserve ?? null),
    ...processesFinding(config),
  ];
  // Without its folder nothing else can be looked at.
  if (standing.state === 'problem') return findings;
  const owner = existsSync(folder.lockFile) ? lockOwner(folder) : null;
  const url = owner?.url ?? null;
  progress.at('asking the server');
  findings.push(await serverFinding(url));
  findings.push(await portFinding(config.server.host, config.server.port, url));
  findings.push(...secretFindings(config, folder), ...(await loginFindings(config)));
  progress.at('reading every page of the databases');
  findings.push(...(await storesFindings(config, owner === null ? 'none' : 'runs', parts)));
  progress.at('looking for model servers on this machine');
  const [{ snapshot, problems }, found] = await Promise.all([
    parts.snapshotOf(config),
    probeLocalServers({ probeGet }),
  ]);
  const reported = await findingsNow(url, config);
  // What a shared database holds is not in the snapshot: its server knows.
  const knowsMore = config.storage.database !== 'sqlite' && reported.length > 0;
  if (!knowsMore) findings.push(...providerFindings(snapshot, problems), ...capabilityFindings(snapshot));
  findings.push(...toolFindings(process.env.PATH ?? '', config));
  if (flags.live) {
    progress.at('asking the providers');
    const { checkLive } = await import('./check-live.ts');
    findings.push(...liveFindings(await checkLive(snapshot)));
  }
  // The server looks at the same machine: what both see is reported once, though its amounts may differ.
  const seenHere = new Set(findings.filter(({ state }) => state !== 'ok').map(({ check }) => check));
  const checked = new Set(['node', ...findings.map(({ check }) => check)]);
  const now = reported.filter(({ check, page, state }) =>
    state === 'ok' ? knowsMore && !checked.has(check) : page !== undefined || !seenHere.has(check),
  );
  const troubled = new Set(now.map(({ check }) => check));
  const others = findings.filter(({ check, state }) => state !== 'ok' || !troubled.has(check));
  const known = new Set(others.map(({ check, message }) => `${check} ${message}`));
  const more = now.filter(({ check, message }) => !known.has(`${check} ${message}`));
  return [...others, ...more, ...localFindings(found, snapshot)];
}

/** Certificates of a login by SAML; metadata by URL is read for them. */
async function loginFindings({ dashboard: { saml } }: Config): Promise<Finding[]> {
  return (await import('../doctor/saml.ts')).createSamlLook(systemClock)(saml);
}

const answerTimeoutMs = 3_000;

/** Findings of the server that holds the folder; none when it cannot be asked. */
async function findingsNow(url: string | null, config: Config): Promise<Finding[]> {
  const key = url === null ? null : adminKey(url, false, () => config);
  if (url === null || key === null) return [];
  try {
    const report = overHttp(url, key).request('GET', '/doctor') as Promise<DoctorReply>;
    const reply = await withinMs(answerTimeoutMs, report, null);
    return reply?.findings ?? [];
  } catch {
    // That it does not answer is a separate finding.
    return [];
  }
}

function secretFindings({ admin, storage }: Config, folder: DataFolder): Finding[] {
  const look = (check: string, name: string, configured: boolean, made: string) =>
    configured
      ? ok(check, 'set in the configuration')
      : secretFileFinding(check, join(folder.path, name), { bytesMin: secretBytesMin, made });
  const shared = storage.database !== 'sqlite' && storage.secret === undefined;
  return [
    look('admin key', 'admin.key', admin.key !== undefined, 'created at the first start on a loopback address'),
    look('storage secret', 'secret', storage.secret !== undefined, 'created at the first start'),
    ...(shared
      ? [warning('storage secret', 'every replica creates its own', 'Set storage.secret, the same for all replicas.')]
      : []),
  ];
}

async function storesFindings(config: Config, server: 'runs' | 'none', parts: CliParts): Promise<Finding[]> {
  const facts = await parts.storeFacts(config);
  const findings = [...storeFindings(facts), ...damageFindings(await parts.damages(config))];
  if (facts.database.trouble !== null) return findings;
  try {
    findings.push(schemaFinding(await parts.migrations(config), server));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    findings.push(problem('schema', message, 'Run the version of Culvert that wrote it, or a newer one.'));
  }
  return findings;
}

function report(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ state, check, message, fix }) => [
    [state, check, message],
    ...(fix === null ? [] : [['', '', `→ ${fix}`]]),
  ]);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  const of = (count: number, noun: string) => `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
  return [aligned(rows), '', `${of(problems, 'problem')}, ${of(warnings, 'warning')}`].join('\n');
}

/** Reports of the stores on themselves, line by line. */
export function storeFindings({ database, state }: StoreFacts): Finding[] {
  const skews = [skewFinding('The database', database.clockAheadMs), skewFinding('Redis', state.clockAheadMs)];
  return [databaseFinding(database), stateFinding(state), ...skews.filter((finding) => finding !== null)];
}

function databaseFinding({ kind, trouble, version }: StoreFacts['database']): Finding {
  const name = kind === 'sqlite' ? 'SQLite in the data folder' : (version ?? 'PostgreSQL');
  if (trouble === null) return ok('database', name);
  const fix =
    kind === 'sqlite'
      ? `Stop the process that holds the files, or restore a backup (${culvert} restore).`
      : 'Start PostgreSQL, or correct storage.database.';
  return problem('database', `${name}: ${trouble}`, fix);
}

function stateFinding({ kind, trouble, version, maxmemoryPolicy }: StoreFacts['state']): Finding {
  if (kind === 'memory') return ok('counters', 'in memory, kept with the ledger');
  const name = version ?? 'Redis';
  if (trouble !== null) return problem('counters', `${name}: ${trouble}`, 'Start Redis, or correct storage.state.');
  if (maxmemoryPolicy !== null && maxmemoryPolicy !== 'noeviction') {
    return warning(
      'counters',
      `${name} may drop counters (maxmemory-policy ${maxmemoryPolicy}); Culvert then reads them from the ledger again`,
      'Set maxmemory-policy noeviction for it.',
    );
  }
  return ok('counters', name);
}

export function schemaFinding(states: readonly SchemaState[], server: 'runs' | 'none'): Finding {
  // A server that runs changes the others with the first request that needs them.
  const opened = states.filter(({ later }) => server === 'none' || !later);
  const pending = opened.flatMap(({ database, pending }) => pending.map((name) => `${database}: ${name}`));
  const fresh = states.every(({ current }) => current === 0);
  if (pending.length === 0) return ok('schema', 'up to date');
  if (fresh) return ok('schema', 'created at the first start');
  const message = `${pending.length} ${pending.length === 1 ? 'migration is' : 'migrations are'} pending (${pending.join(', ')})`;
  return server === 'runs'
    ? warning('schema', `${message}, while an older version runs`, 'Restart it with this version.')
    : warning('schema', message, `The next start runs them, or ${culvert} migrate runs them now. Make a backup first.`);
}

function damageFindings(damages: readonly Damage[]): Finding[] {
  if (damages.length === 0) return [ok('files', 'every database of the data folder is sound')];
  const fix = `Stop Culvert and restore a backup (${culvert} restore FILE --yes); it keeps the damaged files.`;
  return damages.map(({ file, what }) => problem('files', `${file} is damaged: ${what}`, fix));
}

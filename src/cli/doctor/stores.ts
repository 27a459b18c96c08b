import { culvert } from '../../kernel/command-form.ts';
import type { SchemaState } from '../../stores/migration.ts';
import type { Damage } from '../../stores/sqlite/integrity.ts';
import type { StoreFacts } from '../parts.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import { skewFinding } from './machine.ts';

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

export function damageFindings(damages: readonly Damage[]): Finding[] {
  if (damages.length === 0) return [ok('files', 'every database of the data folder is sound')];
  const fix = `Stop Culvert and restore a backup (${culvert} restore FILE --yes); it keeps the damaged files.`;
  return damages.map(({ file, what }) => problem('files', `${file} is damaged: ${what}`, fix));
}

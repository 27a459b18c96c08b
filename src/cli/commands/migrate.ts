import type { SchemaState } from '../../stores/migration.ts';
import type { LocalFlags } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readPlace } from '../read-config.ts';
import { table } from '../table.ts';

export interface MigrateFlags extends LocalFlags {
  check?: boolean;
}

/**
 * `culvert migrate`: what the next start and the first requests would do to the databases, now. With `--check` only says
 * it: 1 = pending.
 */
export async function migrate(flags: MigrateFlags, parts: CliParts): Promise<number> {
  const config = readPlace(flags.config);
  const progress = createProgress(flags, 'blocks');
  progress.at('looking at the databases');
  const before = await parts.migrations(config);
  const pending = before.some((state) => state.pending.length > 0);
  if (!flags.check && pending) {
    progress.at(`changing ${before.map(({ database }) => database).join(' and ')}`);
    await parts.migrate(config);
  }
  if (listForm(flags) === 'json')
    printJson({ applied: flags.check !== true, data: flags.check ? before : await applied(before, config, parts) });
  else print(table(['database', 'schema', flags.check ? 'pending' : 'applied'], before.map(row)));
  return flags.check && pending ? 1 : 0;
}

function row({ database, current, pending }: SchemaState): string[] {
  return [database, String(current), pending.length === 0 ? 'nothing' : pending.join(', ')];
}

async function applied(before: readonly SchemaState[], config: Parameters<CliParts['migrate']>[0], parts: CliParts) {
  const after = await parts.migrations(config);
  return before.map(({ database, pending }) => ({
    database,
    current: after.find((state) => state.database === database)?.current ?? 0,
    applied: pending,
  }));
}

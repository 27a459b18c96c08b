import type { Command } from 'commander';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { adminOptions, example, type Run, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { type Column, listRows, printRows, shown, shownTime } from '../rows.ts';

/** `culvert audit` */
export function declare(command: Command, run: Run, parts: CliParts): void {
  adminOptions(command.option('--limit <rows>', 'how many', whole(1, 100_000), 100))
    .addHelpText('after', example('culvert audit --limit 20'))
    .action((options) => run(audit(options, parts)));
}

interface AuditFlags extends AdminFlags {
  limit: number;
}

/** `culvert audit`: who changed what, newest first. */
async function audit(flags: AuditFlags, parts: CliParts): Promise<number> {
  const { rows } = await withAdmin(flags, parts, (admin) => listRows(admin, '/audit', {}, flags.limit));
  printRows(flags, rows, columns, 'Nothing has been changed yet.');
  return 0;
}

const changeCharsMax = 200;

const columns: readonly Column[] = [
  ['time', (entry) => shownTime(entry.at)],
  ['who', (entry) => entry.actor],
  ['action', (entry) => entry.action],
  ['on', (entry) => entry.subject],
  ['change', (entry) => changeOf(entry.before, entry.after)],
];

/** Only the differences, each as `field: before → after`. */
function changeOf(before: unknown, after: unknown): string {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = names.filter((name) => shown(was[name]) !== shown(is[name]));
  const text = changed.map((name) =>
    shown(was[name]) === '' ? `${name}: ${shown(is[name])}` : `${name}: ${shown(was[name])} → ${shown(is[name])}`,
  );
  return text.join(', ').slice(0, changeCharsMax);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

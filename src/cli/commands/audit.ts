import type { Command } from 'commander';
import { adminOptions, type Run, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { type Column, list, shown, shownTime } from '../rows.ts';

/** `culvert audit`: who changed what, newest first. */
export function declare(command: Command, run: Run, parts: CliParts): void {
  adminOptions(command.option('--limit <rows>', 'how many', whole(1, 100_000), 100), 'culvert audit --limit 20').action(
    (options) => run(list(options, parts, { ...listing, rowsMax: options.limit })),
  );
}

const changeCharsMax = 200;

const columns: readonly Column[] = [
  ['time', (entry) => shownTime(entry.at)],
  ['who', (entry) => entry.actor],
  ['action', (entry) => entry.action],
  ['on', (entry) => entry.subject],
  ['change', (entry) => changeOf(entry.before, entry.after)],
];

const listing = { path: '/audit', columns, empty: 'Nothing has been changed yet.' };

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

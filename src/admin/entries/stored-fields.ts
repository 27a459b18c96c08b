import { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { openDefinition } from '../../books/auth/entry-secrets.ts';
import { fragmentKey } from '../../config/merge-stored.ts';
import { redactPart } from '../../config/redact.ts';
import type { AccountScope } from '../account-scope.ts';
import { anyContains, filter, timeField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import { inOrderOf } from '../page.ts';
import type { AdminParts } from '../parts.ts';
import type { EntryOperations } from './entry-operations.ts';
import { type EntryRows, noEntry, rowIn } from './entry-records.ts';

const source = z
  .enum(['file', 'kept', 'detected', 'built-in'])
  .describe(
    'file: the configuration file, and changed there; kept: made here; detected: found by a key in the environment, a server on this machine or a list of models; built-in: part of Culvert.',
  );

/** Fields of the origin of providers and models in lists. */
export const storedFields = {
  source,
  version: z
    .int()
    .nullable()
    .describe('Version of the stored entry, which PATCH and DELETE take; null when nothing is stored.'),
  definition: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The stored entry as in culvert.yaml, with secrets as (secret); null when nothing is stored.'),
  shadowed: z.boolean().describe('An entry with this name is stored but not used, because the file has one too.'),
  problem: z.string().nullable().describe('Why the stored entry, or a part of it, cannot be used.'),
  updated_at: timeField.nullable(),
  updated_by: z.string().nullable(),
};

type Source = z.output<typeof source>;

/** Entries of a kind in force, then stored ones that cannot be used. `stored`: the fields of `storedFields`. */
export function shownEntries<Config, Shown>(
  parts: AdminParts,
  rows: EntryRows,
  kind: EntryRow['kind'],
  inForce: readonly (readonly [name: string, config: Config])[],
  shown: (name: string, config: Config | null, stored: ReturnType<typeof shownStored>, row: EntryRow | null) => Shown,
): Shown[] {
  const shadowed = parts.setup.report().shadowed;
  const names = new Set(inForce.map(([name]) => name));
  const unused = rows.entries.filter((row) => row.kind === kind && !names.has(row.name));
  return [
    ...inForce.map(([name, config]) => {
      const row = rowIn(rows, kind, name);
      const source = row !== null && !shadowed.has(fragmentKey(row)) ? 'kept' : 'file';
      return shown(name, config, shownStored(parts, source, row), row);
    }),
    ...unused.map((row) => shown(row.name, null, shownStored(parts, 'kept', row), row)),
  ];
}

/** GET of the list: all that the operator may see, in the order of their names. A text is looked for in `textsOf`. */
export function listByName<Entry extends z.ZodType<unknown, { name: string }>>(
  entries: Pick<EntryOperations<Entry>, 'list'>,
  summary: string,
  all: (scope: AccountScope) => Promise<readonly z.input<Entry>[]>,
  textsOf: (row: z.input<Entry>) => readonly string[] = ({ name }) => [name],
): Operation {
  const textOf = ({ name }: z.input<Entry>) => name;
  return entries.list({
    summary,
    filters: { text: filter('Only those that contain this text. Upper and lower case are the same.') },
    rows: async ({ text }, { accounts }) => ({
      rows: inOrderOf(await all(accounts), textOf),
      textOf,
      matches: (row: z.input<Entry>) => text === undefined || anyContains(text, ...textsOf(row)),
      shown: (row: z.input<Entry>) => row,
    }),
  });
}

/** The entry with this name. Refuses a name that none has. */
export function entryNamed<Shown extends { name: string }>(
  kind: EntryRow['kind'],
  entries: readonly Shown[],
  name: string,
): Shown {
  const names = entries.map((entry) => entry.name);
  return entries[names.indexOf(name)] ?? refuse(noEntry(kind, name, names));
}

/** `row`: the row that is stored under the name; null: none. */
export function shownStored({ setup }: AdminParts, from: Source, row: EntryRow | null) {
  if (row === null) {
    const nothing = { version: null, definition: null, problem: null, updated_at: null, updated_by: null };
    return { source: from, shadowed: false, ...nothing };
  }
  const { shadowed, problems } = setup.report();
  const key = fragmentKey(row);
  return {
    source: from,
    version: row.version,
    definition: redactPart(openDefinition(setup.sealer(), row) ?? row.definition) as Record<string, unknown>,
    shadowed: shadowed.has(key),
    problem: problems.get(key) ?? null,
    updated_at: new Date(row.updatedMs).toISOString(),
    updated_by: row.updatedBy,
  };
}

import { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { openDefinition } from '../../books/auth/entry-secrets.ts';
import { fragmentKey } from '../../config/merge-stored.ts';
import { redactPart } from '../../config/redact.ts';
import { timeField } from '../fields.ts';
import type { AdminParts } from '../parts.ts';

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

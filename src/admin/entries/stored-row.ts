import { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { sealDefinition } from '../../books/auth/entry-secrets.ts';
import { redactPart } from '../../config/redact.ts';
import type { AdminParts } from '../parts.ts';
import { type EntryRows, type Planned, withRow, writtenOf } from './entry-records.ts';
import { type Members, patched } from './merge-patch.ts';

const knownVersion = z.coerce
  .number()
  .int()
  .min(1)
  .optional()
  .describe('The version that you know. If the current one is another, the answer is 409.');
export const versionQuery = z.strictObject({ version: knownVersion });

/** Members of a patch are checked as the definition that comes of it. */
export const patchSchema = z
  .object({
    version: z
      .int()
      .min(1)
      .optional()
      .describe('The version that you know. If the current one is another, the answer is 409.'),
  })
  .catchall(z.json())
  .describe('The members to change, as in POST. null removes a member, and a list replaces the old one.');

/** Adds a row of new content, at its first version. */
export function creation(
  parts: AdminParts,
  rows: EntryRows,
  identity: Pick<EntryRow, 'kind' | 'name'>,
  definition: Members,
  actor: string,
): Planned & { after: EntryRows } {
  const nowMs = parts.clock.wallMs();
  const sealed = sealDefinition(parts.setup.sealer(), identity, definition);
  const row = { ...identity, ...sealed, version: 1, createdMs: nowMs, updatedMs: nowMs, updatedBy: actor };
  return {
    changes: [{ kind: 'create-kept', row }],
    audit: { ...entryOf(row, 'create'), before: null, after: redactPart(definition) },
    after: withRow(rows, row),
  };
}

/** Gives a row its next version. `refuseUnsafe` sees the content before and after the patch. */
export function patching(
  parts: AdminParts,
  patch: Members,
  actor: string,
  refuseUnsafe: (before: Members, after: Members, rows: EntryRows) => void = () => {},
): (row: EntryRow, rows: EntryRows) => Planned {
  return (row, rows) => {
    const before = writtenOf(parts, row);
    const after = patched(before, patch);
    refuseUnsafe(before, after, rows);
    const sealed = sealDefinition(parts.setup.sealer(), row, after);
    const next = { ...row, ...sealed, ...stamp(parts, row, actor) };
    return {
      changes: [{ kind: 'replace-kept', row: next, was: row.version }],
      audit: { ...entryOf(row, 'update'), before: redactPart(before), after: redactPart(after) },
      after: withRow(rows, next),
    };
  };
}

/** Removes a row. */
export function removal(row: EntryRow, rows: EntryRows): Planned & { after: EntryRows } {
  return {
    changes: [{ kind: 'delete-kept', of: row.kind, name: row.name, was: row.version }],
    audit: { ...entryOf(row, 'delete'), before: redactPart(row.definition), after: null },
    after: { ...rows, entries: rows.entries.filter((other) => other !== row) },
  };
}

function entryOf({ kind, name }: Pick<EntryRow, 'kind' | 'name'>, done: 'create' | 'update' | 'delete') {
  return { action: `${kind}.${done}`, subject: name };
}

/** A change of something that belongs to a row: it gets its next version, with the author and the time. */
export function stamp(
  { clock }: AdminParts,
  row: EntryRow,
  actor: string,
): Pick<EntryRow, 'version' | 'updatedMs' | 'updatedBy'> {
  return { version: row.version + 1, updatedMs: clock.wallMs(), updatedBy: actor };
}

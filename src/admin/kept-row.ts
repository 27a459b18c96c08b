import { z } from 'zod';
import type { KeptRow } from '../auth/account-store.ts';
import { sealDefinition } from '../auth/kept-secrets.ts';
import type { AdminParts } from './parts.ts';

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

/** A row of new content, at its first version. */
export function newRow(
  parts: AdminParts,
  kind: KeptRow['kind'],
  rowName: string,
  definition: Record<string, unknown>,
  actor: string,
): KeptRow {
  const nowMs = parts.clock.wallMs();
  const identity = { kind, name: rowName };
  return {
    ...identity,
    ...sealDefinition(parts.setup.sealer(), identity, definition),
    version: 1,
    createdMs: nowMs,
    updatedMs: nowMs,
    updatedBy: actor,
  };
}

/** The next version of a row, with the new content. */
export function nextOf(parts: AdminParts, row: KeptRow, definition: Record<string, unknown>, actor: string): KeptRow {
  return { ...row, ...sealDefinition(parts.setup.sealer(), row, definition), ...stamp(parts, row, actor) };
}

/** A change of something that belongs to a row: it gets its next version, with the author and the time. */
export function stamp(
  { clock }: AdminParts,
  row: KeptRow,
  actor: string,
): Pick<KeptRow, 'version' | 'updatedMs' | 'updatedBy'> {
  return { version: row.version + 1, updatedMs: clock.wallMs(), updatedBy: actor };
}

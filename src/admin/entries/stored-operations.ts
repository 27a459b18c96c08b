import type { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import type { EntryOperations } from './entry-operations.ts';
import type { EntryKind, EntryRecords, EntryRows, Planned } from './entry-records.ts';
import type { Members } from './merge-patch.ts';
import { creation, patching, patchSchema, removal, versionQuery } from './stored-row.ts';

/** A kind of entry that is also made while Culvert runs: providers, models or MCP servers. */
interface EntryKindParts<Reply extends z.ZodType> {
  kind: EntryKind;
  entries: EntryOperations<Reply>;
  /** The entry as lists show it. Refuses an unknown name. */
  show(name: string): Promise<z.input<Reply>>;
  add: {
    summary: string;
    body: z.ZodType;
    /** Refuses a definition, or adds other rows. Default: the row alone. */
    planOf?(definition: Members): (rows: EntryRows, name: string, actor: string) => Planned;
  };
  change: {
    summary: string;
    /** Refuses a patch, before the row is read and then by the content before and after it. */
    guardOf?(patch: Members, name: string): (before: Members, after: Members, rows: EntryRows) => void;
  };
  remove: {
    summary: string;
    /** Refuses, before anything is read. */
    refuseUsed?(name: string): Promise<void>;
    /** Default: the row alone. */
    plan?(row: EntryRow, rows: EntryRows): Planned;
    /** Removes what is stored elsewhere. */
    andThen?(name: string): Promise<unknown>;
  };
}

/** `add`, `change` and `remove` of stored entries. */
export function storedEntryOperations<Reply extends z.ZodType>(
  parts: AdminParts,
  records: EntryRecords,
  { kind, entries, show, add, change, remove }: EntryKindParts<Reply>,
): Operation[] {
  const rowOf = (name: string, version: number | undefined, actor: string) =>
    ({ kind, name, version, actor, show: () => show(name) }) as const;
  /** An entry behind its change, which was made whatever becomes of this look. */
  const showMade = (name: string) =>
    show(name).catch((error: unknown) => {
      const failure = error instanceof FailureError ? error.failure : null;
      if (failure?.kind !== 'quota-unavailable') throw error;
      const message = `The change of '${name}' was made, and cannot be read right now. Look at it later, and do not send it again.`;
      return refuse({ ...failure, message });
    });
  const planOf =
    add.planOf ??
    ((definition: Members) => (rows: EntryRows, name: string, actor: string) =>
      creation(parts, rows, { kind, name }, definition, actor));

  return [
    entries.add({
      ...add,
      async run({ written, operator: { name: actor } }) {
        const { [entries.named]: given, ...definition } = written as Members;
        const name = String(given);
        const plan = planOf(definition);
        await records.create(kind, name, (rows) => plan(rows, name, actor), actor);
        return showMade(name);
      },
    }),
    entries.change({
      ...change,
      body: patchSchema,
      async run(name, { body: { version, ...patch }, operator: { name: actor } }) {
        const planned = patching(parts, patch, actor, change.guardOf?.(patch, name));
        await records.change(rowOf(name, version, actor), planned);
        return showMade(name);
      },
    }),
    entries.remove({
      ...remove,
      query: versionQuery,
      async run(name, { query, operator: { name: actor } }) {
        const shown = await show(name);
        await remove.refuseUsed?.(name);
        await records.change(rowOf(name, query.version, actor), remove.plan ?? removal);
        await remove.andThen?.(name);
        return shown;
      },
    }),
  ];
}

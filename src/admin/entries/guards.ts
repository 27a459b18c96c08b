import { z } from 'zod';
import { redactPart } from '../../config/redact.ts';
import { name } from '../../config/scalars.ts';
import { guardSchema } from '../../config/schema/schema-guards.ts';
import type { GuardConfig } from '../../config/schema.ts';
import { type AccountScope, partWithin } from '../account-scope.ts';
import type { Directory, Records } from '../directory.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import type { EntryRecords } from './entry-records.ts';
import { refuseMachineTokens } from './machine-tokens.ts';
import type { Members } from './merge-patch.ts';
import { guardAddresses } from './send-elsewhere.ts';
import { entryNamed, listByName, shownEntries, storedFields } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';
import { creation } from './stored-row.ts';

const shownSchema = z.object({
  name: z.string(),
  check: z.string().describe('What it looks for.'),
  action: z.string(),
  mode: z.string(),
  on: z.array(z.string()),
  on_error: z.string(),
  settings: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('All of it with its defaults, with secrets as (secret); null when the stored entry cannot be used.'),
  used_by: z
    .object({
      server: z.boolean().describe('Whether it applies to all requests.'),
      models: z.array(z.string()),
      plans: z.array(z.string()),
      accounts: z.array(z.string()),
      keys: z.array(z.string()).describe('Their ids.'),
    })
    .describe('What names it.'),
  ...storedFields,
});
export type GuardReply = z.output<typeof shownSchema>;
type ShownGuard = z.input<typeof shownSchema>;

const newGuard = guardSchema.safeExtend({
  name: name("a guard's name").describe('Models, plans, accounts, keys and `server` name it so.'),
});

/** `/guards`: those of the file, and stored ones. */
export function guardOperations(parts: AdminParts, records: Records, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/guards', named: 'name', area: 'models', reply: shownSchema });
  const all = async (scope: AccountScope) =>
    partWithin(await shownGuards(parts, entryRecords, await records.current(scope)), scope);
  const show = async (guard: string, scope: AccountScope = null) => entryNamed('guard', await all(scope), guard);
  return [
    listByName(entries, 'Lists the guards and what names them.', all),
    entries.show({ summary: 'Returns one guard.', run: (guard, { operator }) => show(guard, operator.accounts) }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'guard',
      entries,
      show,
      add: {
        summary: 'Creates a guard, as under `guards` in culvert.yaml.',
        body: newGuard,
        planOf(definition) {
          refuseTokensElsewhere(definition);
          return (rows, name, actor) => creation(parts, rows, { kind: 'guard', name }, definition, actor);
        },
      },
      change: {
        summary: 'Changes the stored settings of a guard. Running requests finish as they began.',
        guardOf: (patch) => (before, after) => {
          refuseTokensElsewhere(after);
          guardAddresses('guard')(patch)(before, after);
        },
      },
      remove: {
        summary: 'Removes a stored guard that nothing names.',
        refuseUsed: async (guard) => refuseUsed(guard, await records.current(null)),
      },
    }),
  ];
}

/** At the vendor's own address, its answers show no token to anybody. */
function refuseTokensElsewhere(definition: Members): void {
  if ('url' in definition) refuseMachineTokens(definition);
}

/** The check of the whole refuses what models need. */
function refuseUsed(guard: string, directory: Directory): void {
  const { plans, accounts, keys } = usedBy(guard, directory);
  const users = [
    ...plans.map((plan) => `the plan ${plan}`),
    ...accounts.map((account) => `the account ${account}`),
    ...keys.map((key) => `the key ${key}`),
  ];
  if (users.length === 0) return;
  const named = users.slice(0, 5).join(', ');
  const more = users.length > 5 ? ` and ${users.length - 5} more` : '';
  refuse({ kind: 'conflict', message: `These name the guard '${guard}': ${named}${more}. Change them first.` });
}

function usedBy(guard: string, { config, plans, accounts, keys }: Directory): ShownGuard['used_by'] {
  const names = ({ guards }: { guards?: unknown }) => Array.isArray(guards) && guards.includes(guard);
  return {
    server: names(config.server),
    models: Object.keys(config.models).filter((model) => names(config.models[model] ?? {})),
    plans: plans.filter(({ definition }) => names(definition)).map((plan) => plan.name),
    accounts: accounts.filter(names).map(({ id }) => id),
    keys: keys.filter((key) => key.revokedMs === null && names(key)).map(({ id }) => id),
  };
}

/** Guards in force, and stored ones that cannot be used. */
async function shownGuards(parts: AdminParts, entryRecords: EntryRecords, directory: Directory): Promise<ShownGuard[]> {
  const rows = await entryRecords.rows();
  const inForce = Object.entries(directory.config.guards);
  return shownEntries(parts, rows, 'guard', inForce, (guard, config, stored, row) => {
    const { check, action, mode, on, on_error } = config ?? ((row?.definition ?? {}) as Partial<GuardConfig>);
    return {
      name: guard,
      check: String(check),
      action: String(action),
      mode: mode ?? 'enforce',
      on: on ?? ['input', 'output'],
      on_error: on_error ?? 'deny',
      settings: config === null ? null : (redactPart(config) as Record<string, unknown>),
      used_by: usedBy(guard, directory),
      ...stored,
    };
  });
}

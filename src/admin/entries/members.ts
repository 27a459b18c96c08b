import { z } from 'zod';
import type { Change, OperatorChange, OperatorRow } from '../../books/auth/account-store.ts';
import { isoOrNull, operatorFacts } from '../../books/auth/key-facts.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { type Failure, forbidden } from '../../kernel/failure.ts';
import { requestedAccounts } from '../account-scope.ts';
import type { Records } from '../directory.ts';
import { filter, timeField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import { inOrderOf } from '../page.ts';
import { mayNotGive, roles } from '../roles.ts';
import { entryOperations } from './entry-operations.ts';
import { byGroups, managerOf, managers } from './operators.ts';

/** Attempts to change a member that others change, too. */
const triesMax = 10;

const memberSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  accounts: z.array(z.string()).describe('Those of its accounts that you manage.'),
  managed_by: z.enum(managers),
  created_at: timeField.nullable(),
});

/** For pages that show it. */
export type MemberReply = z.output<typeof memberSchema>;

/** `/members`: operators of some accounts, as those who manage these accounts see them. */
export function memberOperations(records: Records): Operation[] {
  const entries = entryOperations({ path: '/members', named: 'id', area: 'members', reply: memberSchema });

  const { change } = createMembers(records);
  return [
    entries.list({
      summary: 'Lists the operators of some accounts, by name, as far as you manage these accounts.',
      filters: { account: filter('Only members of this account.') },
      async rows({ account }, { accounts }) {
        const scope = requestedAccounts(account, accounts);
        const { stored } = await records.current(null);
        return {
          rows: inOrderOf(
            stored.operators.filter((row) => inCommon(row, scope).length > 0),
            nameOf,
          ),
          textOf: nameOf,
          shown: (row: OperatorRow) => shown(row, accounts),
        };
      },
    }),
    entries.change({
      summary: 'Changes the role of a member. It counts at once, for the sessions of the member too.',
      body: z.strictObject({ role: z.enum(roles) }),
      async run(id, { body: { role }, operator }) {
        const { before, after } = await change(id, operator, (member) => {
          // The role counts in all its accounts.
          const refused = mayNotGive(operator, { role, accounts: member.accounts });
          if (refused !== null) refuse(refused.kind === 'forbidden' ? refused : elsewhereToo(member));
          return { role };
        });
        return shown(after ?? before, operator.accounts);
      },
    }),
    entries.remove({
      summary:
        'Takes the accounts that you manage from a member. A member of no other account is removed with its sessions.',
      async run(id, { operator }) {
        const { before } = await change(id, operator, (member) => {
          const lost = inCommon(member, operator.accounts);
          const accounts = (member.accounts ?? []).filter((account) => !lost.includes(account));
          return accounts.length === 0 ? null : { accounts };
        });
        return shown(before, operator.accounts);
      },
    }),
  ];
}

/** How members are found and changed. */
function createMembers(records: Records) {
  async function memberOf(id: string, caller: Operator): Promise<OperatorRow> {
    const { stored } = await records.current(null);
    const row = stored.operators.find((one) => one.id === id);
    if (row === undefined || inCommon(row, caller.accounts).length === 0)
      refuse({ kind: 'not-found', message: `There is no member '${id.slice(0, 64)}'.` });
    if (managerOf(row) !== 'culvert') refuse(byGroups(row));
    // An operator who may not make a member like this does not change it either.
    const refused = mayNotGive(caller, { role: row.role, accounts: inCommon(row, caller.accounts) });
    return refused === null ? row : refuse(refused);
  }

  /** Changes a member as `to` says, null removes it. Others may change its accounts at the same time. */
  async function change(id: string, caller: Operator, to: (before: OperatorRow) => OperatorChange | null) {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const before = await memberOf(id, caller);
      const set = to(before);
      const after = set && { ...before, ...set };
      const as = { id: before.id, was: before.accounts ?? [] };
      const change: Change =
        set === null ? { kind: 'delete-operator', ...as } : { kind: 'update-operator', ...as, set };
      const done = await records.apply([change], {
        actor: caller.name,
        action: after === null ? 'operator.delete' : 'operator.update',
        subject: before.id,
        before: operatorFacts(before),
        after: after && operatorFacts(after),
      });
      if (done === 'done') return { before, after };
    }
    return refuse({ kind: 'conflict', message: 'The accounts of this member are changing. Try again.' });
  }

  return { change };
}

function nameOf({ name }: OperatorRow): string {
  return name;
}

/** Accounts of a member in a scope; none for operators of all accounts. */
function inCommon({ accounts }: OperatorRow, scope: readonly string[] | null): readonly string[] {
  return (accounts ?? []).filter((account) => scope === null || scope.includes(account));
}

function shown(row: OperatorRow, scope: readonly string[] | null): z.input<typeof memberSchema> {
  const { id, name, role, createdMs } = row;
  const accounts = [...inCommon(row, scope)];
  return { id, name, role, accounts, managed_by: managerOf(row), created_at: isoOrNull(createdMs) };
}

function elsewhereToo({ name }: OperatorRow): Failure {
  const message = `'${name}' is also a member of accounts that you do not manage, where the role would count, too.`;
  return forbidden(message);
}

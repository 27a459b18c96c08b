import { z } from 'zod';
import type { Change, OperatorRow } from '../../books/auth/account-store.ts';
import { mintOperatorKey } from '../../books/auth/api-key.ts';
import { isoOrNull, operatorFacts } from '../../books/auth/key-facts.ts';
import { operatorNameExpected, operatorNamePattern, reservedOperators, samlIssuer } from '../../books/auth/operator.ts';
import { type ProviderLogin, providerLogins } from '../../books/auth/session-store.ts';
import { someText } from '../../config/scalars.ts';
import type { Config } from '../../config/schema.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { Records } from '../directory.ts';
import { timeField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import { inOrderOf } from '../page.ts';
import type { AdminParts } from '../parts.ts';
import { roles } from '../roles.ts';
import { checkContentVersion, contentVersion, contentVersionField, knownContentVersion } from './content-version.ts';
import { entryOperations } from './entry-operations.ts';

const accountsMax = 1_000;
const publicIdLength = 12;
export const managers = ['culvert', 'groups', 'scim'] as const;

export const nameField = z
  .string()
  .regex(operatorNamePattern, operatorNameExpected)
  .refine((name) => !reservedOperators.includes(name), {
    error: `expected another name than ${reservedOperators.join(', ')}`,
  })
  .describe('The name that the audit log shows.');
const roleField = z.enum(roles).describe('What it may do (docs/dashboard.md).');
export const accountsField = z
  .array(someText(64))
  .min(1)
  .max(accountsMax)
  .nullable()
  .describe('Accounts that it may see and change; null: all.');

const operatorFields = {
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  accounts: z.array(z.string()).nullable().describe('Null = all.'),
  login: z.enum(['key', ...providerLogins]).describe('How the operator logs in.'),
  managed_by: z
    .enum(managers)
    .describe(
      'groups: those of its provider of logins set its role and accounts at each login. scim: groups of a directory do.',
    ),
  prefix: z.string().nullable().describe('The beginning of its key.'),
  created_at: timeField.nullable(),
  version: contentVersionField,
};
const operatorSchema = z.object(operatorFields);
const withKeySchema = z.object({
  ...operatorFields,
  key: z.string().describe('The secret. It is shown only once.').meta({ kind: 'secret' }),
});

/** For pages that show it. */
export type OperatorReply = z.output<typeof operatorSchema>;

const newSchema = z.strictObject({ name: nameField, role: roleField, accounts: accountsField.default(null) });
const changeSchema = z
  .strictObject({
    name: nameField.optional(),
    role: roleField.optional(),
    accounts: accountsField.optional(),
    version: knownContentVersion,
  })
  .refine(({ version: _, ...body }) => Object.values(body).some((value) => value !== undefined), {
    error: 'expected name, role or accounts',
  });

/** `/operators`: who administers in addition to the holder of the admin key. */
export function operatorOperations(parts: AdminParts, records: Records): Operation[] {
  const entries = entryOperations({ path: '/operators', named: 'id', area: 'operators', reply: operatorSchema });
  const { operatorOf, keyHolderOf, checkAccounts, change } = createRows(records);
  const shown = (row: OperatorRow) => shownOperator(row, parts.snapshots.current.config.dashboard);

  return [
    entries.list({
      summary: 'Lists the operators by name, without the holder of the admin key.',
      async rows(_query, operator) {
        const { stored } = await records.current(null);
        const visible = stored.operators.filter(({ name }) => operator.accounts === null || name === operator.name);
        return { rows: inOrderOf(visible, nameOf), textOf: nameOf, shown };
      },
    }),
    entries.add({
      summary: 'Creates an operator who logs in by a key. Only this response contains the key.',
      body: newSchema,
      reply: withKeySchema,
      async run({ body, operator }) {
        await checkAccounts(body.accounts);
        const { prefix, secret, hash } = mintOperatorKey();
        const id = `op_${randomBase62(publicIdLength)}`;
        const createdMs = parts.clock.wallMs();
        const row: OperatorRow = { ...body, id, prefix, hash, issuer: null, subject: null, origin: null, createdMs };
        await change([{ kind: 'create-operator', operator: row }], 'operator.create', operator.name, null, row);
        return { ...shown(row), key: secret };
      },
    }),
    entries.change({
      summary:
        'Changes the name, role or accounts of an operator who has a key. The change applies to its sessions at once.',
      body: changeSchema,
      async run(id, { body: { version, ...body }, operator }) {
        const before = await keyHolderOf(id);
        checkContentVersion(version, shown(before), `operator '${before.name}'`);
        await checkAccounts(body.accounts);
        const set = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
        const after: OperatorRow = { ...before, ...set };
        const update: Change = { kind: 'update-operator', id: before.id, set };
        await change([update], 'operator.update', operator.name, before, after);
        return shown(after);
      },
    }),
    entries.act('rotate', {
      summary: 'Creates a new key for an operator. The old key stops working at once, and its sessions end.',
      reply: withKeySchema,
      async run(id, { operator }) {
        const before = await keyHolderOf(id);
        const { prefix, secret, hash } = mintOperatorKey();
        const after: OperatorRow = { ...before, prefix, hash };
        const update: Change = { kind: 'update-operator', id: before.id, set: { prefix, hash } };
        await change([update], 'operator.rotate', operator.name, before, after);
        return { ...shown(after), key: secret };
      },
    }),
    entries.remove({
      summary:
        'Removes an operator with its sessions. An operator of oidc or saml comes back at its next login, unless it is in none of the groups any more.',
      async run(id, { operator }) {
        const before = await operatorOf(id);
        await change([{ kind: 'delete-operator', id: before.id }], 'operator.delete', operator.name, before, null);
        return shown(before);
      },
    }),
  ];
}

/** How operators are found and changed. */
function createRows(records: Records) {
  async function operatorOf(id: string): Promise<OperatorRow> {
    const { stored } = await records.current(null);
    return stored.operators.find((one) => one.id === id) ?? refuse(noOperator(id));
  }

  /** Refuses an operator whom groups of its provider set. */
  async function keyHolderOf(id: string): Promise<OperatorRow> {
    const row = await operatorOf(id);
    return managerOf(row) === 'culvert' ? row : refuse(byGroups(row));
  }

  async function checkAccounts(accounts: readonly string[] | null | undefined): Promise<void> {
    const directory = await records.current(null);
    for (const id of accounts ?? []) {
      if (directory.account(id) === null) refuse(invalid('accounts', `accounts: there is no account '${id}'`));
    }
  }

  /** Sessions of a key that is no more are over with it. */
  async function change(
    changes: readonly Change[],
    action: string,
    actor: string,
    before: OperatorRow | null,
    after: OperatorRow | null,
  ) {
    const row = after ?? before;
    if (row === null) return;
    const { id, name } = row;
    const done = await records.apply(changes, {
      actor,
      action,
      subject: id,
      before: before === null ? null : operatorFacts(before),
      after: after === null ? null : operatorFacts(after),
    });
    if (done === 'exists') refuse({ kind: 'conflict', message: `An operator named '${name}' exists already.` });
    if (done === 'absent') refuse(noOperator(id));
  }

  return { operatorOf, keyHolderOf, checkAccounts, change };
}

function nameOf({ name }: OperatorRow): string {
  return name;
}

function shownOperator(row: OperatorRow, dashboard: Config['dashboard']): z.input<typeof operatorSchema> {
  const { id, name, role, accounts, prefix, createdMs } = row;
  return {
    id,
    name,
    role,
    accounts: accounts === null ? null : [...accounts],
    login: prefix === null ? providerOf(row, dashboard) : 'key',
    managed_by: managerOf(row),
    prefix,
    created_at: isoOrNull(createdMs),
    version: contentVersion({ name, role, accounts }),
  };
}

/** A directory says of nobody where they log in. */
function providerOf({ issuer }: OperatorRow, { oidc, saml }: Config['dashboard']): ProviderLogin {
  if (issuer === null) return oidc === undefined && saml !== undefined ? 'saml' : 'oidc';
  return issuer.startsWith(samlIssuer) ? 'saml' : 'oidc';
}

function noOperator(id: string): Failure {
  return { kind: 'not-found', message: `There is no operator '${id.slice(0, 64)}'.` };
}

export function managerOf({ issuer, origin }: OperatorRow): (typeof managers)[number] {
  if (origin === 'scim') return 'scim';
  return issuer !== null && origin === null ? 'groups' : 'culvert';
}

export function byGroups({ name }: OperatorRow): Failure {
  const message = `The operator '${name}' logs in at a provider. Its groups there and the roles in the configuration decide its role; change those.`;
  return { kind: 'conflict', message };
}

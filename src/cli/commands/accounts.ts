import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { type Column, listRows, printRow, printRows, type Row, rowTable, shownDate } from '../rows.ts';
import { checkPlan } from './keys-create.ts';
import { keyColumns } from './keys-list.ts';
import { type Windows, windowTable } from './windows.ts';

const accountsMax = 100_000;
const keysShownMax = 1_000;

export interface AccountCreateFlags extends AdminFlags {
  plan?: string;
  name?: string;
}

/** `culvert accounts create` */
export async function createAccount(id: string, flags: AccountCreateFlags, parts: CliParts): Promise<number> {
  const { plan, name } = flags;
  return withAdmin(flags, parts, async (admin) => {
    if (plan !== undefined) await checkPlan(admin, plan);
    const body = { id, name: name ?? id, ...(plan !== undefined && { plan }) };
    printRow(flags, (await admin.request('POST', '/accounts', { body })) as Row);
    return 0;
  });
}

/** `culvert accounts list` */
export async function listAccounts(flags: AdminFlags, parts: CliParts): Promise<number> {
  const { rows, more } = await withAdmin(flags, parts, (admin) => listRows(admin, '/accounts', {}, accountsMax));
  printRows(flags, rows, columns, 'There is no account yet: culvert accounts create ID --plan P');
  if (more) note(`Only the first ${accountsMax} are listed.`);
  return 0;
}

const columns: readonly Column[] = [
  ['account', (account) => account.id],
  ['name', (account) => (account.name === account.id ? '' : account.name)],
  ['plan', (account) => account.plan],
  ['status', (account) => account.status],
  ['created', (account) => shownDate(account.created_at, '')],
  ['from', (account) => account.from],
];

export interface AccountChange {
  status?: 'active' | 'suspended';
  plan?: string;
}

/** `culvert accounts suspend`, `activate` and `set` */
export async function changeAccount(
  id: string,
  change: AccountChange,
  flags: AdminFlags,
  parts: CliParts,
): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    if (change.plan !== undefined) await checkPlan(admin, change.plan);
    const changed = await admin.request('PATCH', accountPath(id), { body: change });
    if (listForm(flags) === 'json') printJson(changed);
    else print(`Account '${id}' ${change.status === undefined ? `has plan '${change.plan}'` : `is ${change.status}`}.`);
    return 0;
  });
}

/** `culvert accounts show`: the account, its keys, and how full its windows are where the server can tell. */
export async function showAccount(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const account = (await admin.request('GET', accountPath(id))) as Row;
    const { rows: keys } = await listRows(admin, '/keys', { account: id }, keysShownMax);
    const windows = await windowsOf(admin, id);
    if (listForm(flags) === 'json') {
      printJson({ ...account, keys, ...(windows !== null && windows) });
      return 0;
    }
    printRow(flags, account);
    if (windows !== null) print(`\n${windowTable(windows)}`);
    print(keys.length === 0 ? '\nIt has no key.' : `\n${rowTable(keys, keyColumns)}`);
    return 0;
  });
}

async function windowsOf(admin: AdminClient, account: string): Promise<Windows | null> {
  try {
    const usage = (await admin.request('GET', '/usage', { query: { account, group_by: 'day' } })) as Windows;
    return usage.windows === undefined ? null : { windows: usage.windows };
  } catch (error) {
    // Counters that cannot be asked hide no account.
    if (error instanceof AdminRefused && error.status === 503) return null;
    throw error;
  }
}

function accountPath(id: string): string {
  return `/accounts/${encodeURIComponent(id)}`;
}

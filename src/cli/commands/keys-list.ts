import { type AdminFlags, withAdmin } from '../admin-client.ts';
import type { CliParts } from '../parts.ts';
import { note } from '../print.ts';
import { type Column, listRows, printRows, shown, shownDate } from '../rows.ts';

export interface KeysListFlags extends AdminFlags {
  account?: string;
  status?: string;
}

const keysMax = 100_000;

/** `culvert keys list`: all keys of the configuration and the stores, without secrets. */
export async function listKeys(flags: KeysListFlags, parts: CliParts): Promise<number> {
  const { rows, more } = await withAdmin(flags, parts, (admin) =>
    listRows(admin, '/keys', { account: flags.account, status: flags.status }, keysMax),
  );
  printRows(flags, rows, keyColumns, 'There is no key yet: culvert keys create --account A --name N');
  if (more) note(`Only the first ${keysMax} are listed; --account narrows them.`);
  return 0;
}

export const keyColumns: readonly Column[] = [
  ['account', (key) => key.account],
  ['name', (key) => key.name],
  ['id', (key) => key.id],
  ['plan', (key) => key.plan],
  ['models', (key) => (key.models === null ? 'all' : key.models)],
  ['ips', (key) => (shown(key.ips) === '' ? 'any' : key.ips)],
  ['expires', (key) => shownDate(key.expires, 'never')],
  ['status', (key) => key.status],
  ['from', (key) => key.from],
];

import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { type Column, listRows, printRows, type Row } from '../rows.ts';

const tenantsMax = 100_000;

/** `culvert vectors list` */
export async function listTenants(flags: AdminFlags, parts: CliParts): Promise<number> {
  const { rows, more } = await withAdmin(flags, parts, tenants);
  printRows(flags, rows, columns, 'Nobody has vector data.');
  if (more) note(`Only the first ${tenantsMax} are listed.`);
  return 0;
}

const columns: readonly Column[] = [
  ['tenant', (row) => row.tenant],
  ['account', (row) => row.account],
  ['collections', (row) => row.collections],
  ['points', (row) => row.points],
  ['keys', (row) => (row.keys === 0 ? 'none' : row.keys)],
];

/** `culvert vectors adopt` */
export async function adoptTenant(from: string, to: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const adopted = (await admin.request('POST', '/vectors/adopt', { body: { from, to } })) as Row;
    if (flags.json) printJson(adopted);
    else note(`${String(adopted.collections)} collections of '${from}' are those of '${to}' now.`);
    return 0;
  });
}

export interface PurgeFlags extends AdminFlags {
  yes?: boolean;
}

/** `culvert vectors purge` */
export async function purgeTenant(tenant: string, flags: PurgeFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    if (!flags.yes) {
      const found = (await tenants(admin)).rows.find((row) => row.tenant === tenant);
      if (found === undefined) throw new CommandFailed(`The tenant '${tenant}' has no collections.`);
      const has = `${String(found.collections)} collections with ${String(found.points)} points`;
      throw new CommandFailed(`'${tenant}' has ${has}. culvert vectors purge ${tenant} --yes deletes them for ever.`);
    }
    const purged = (await admin.request('POST', '/vectors/purge', { body: { tenant } })) as Row;
    if (flags.json) printJson(purged);
    else note(`${String(purged.collections)} collections of '${tenant}' are deleted.`);
    return 0;
  });
}

function tenants(admin: AdminClient): Promise<{ rows: Row[]; more: boolean }> {
  return listRows(admin, '/vectors/tenants', {}, tenantsMax);
}

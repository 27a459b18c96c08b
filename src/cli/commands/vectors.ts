import type { Command } from 'commander';
import { culvert } from '../../kernel/command-form.ts';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { adminOptions, example, type Run, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { type Column, list, listRows, type Row } from '../rows.ts';

/** `culvert vectors …` */
export function declare(vectors: Command, run: Run, parts: CliParts): void {
  vectors.addHelpText('after', example('culvert vectors list'));
  const tenantOption = ['--tenant <tenant>', 'whose data: account/name of its key, as vectors list shows it'] as const;

  adminOptions(
    vectors.command('list').description('list the tenants that have vector data'),
    'culvert vectors list',
  ).action((options) => run(list(options, parts, listing)));

  adminOptions(
    vectors
      .command('export')
      .description('write all data of a tenant to a file, as JSON lines: each collection, then its points')
      .argument('<file>', 'file to write; an existing one is replaced once the new one is whole')
      .requiredOption(...tenantOption),
    'culvert vectors export --tenant dev/laptop laptop.jsonl',
  ).action((file, options) =>
    run(import('./vectors-export.ts').then(({ exportVectors }) => exportVectors(file, options, parts))),
  );

  adminOptions(
    vectors
      .command('import')
      .description('write an export into the data of a tenant, with its ids; points with the same ids are replaced')
      .argument('<file>', 'a file that culvert vectors export wrote, whichever engine it came from')
      .requiredOption(...tenantOption)
      .option('--from-line <number>', 'go on at the line that a stopped import named', whole(1, 1e15), 1),
    'culvert vectors import --tenant dev/laptop laptop.jsonl',
  ).action((file, options) =>
    run(import('./vectors-import.ts').then(({ importVectors }) => importVectors(file, options, parts))),
  );

  adminOptions(
    vectors
      .command('adopt')
      .description('move all data of one tenant to another, for example of a revoked key; nobody may write meanwhile')
      .argument('<from>', 'tenant that has the data')
      .argument('<to>', 'tenant of a key, which has no collection of the same name'),
    'culvert vectors adopt dev/old-laptop dev/laptop',
  ).action((from, to, options) => run(adoptTenant(from, to, options, parts)));

  adminOptions(
    vectors
      .command('purge')
      .description('delete all data of a tenant for ever')
      .argument('<tenant>', 'whose')
      .option('--yes', 'delete it; without this option the command only shows what there is'),
    'culvert vectors purge dev/old-laptop --yes',
  ).action((tenant, options) => run(purgeTenant(tenant, options, parts)));
}

const tenantsMax = 100_000;

const columns: readonly Column[] = [
  ['tenant', (row) => row.tenant],
  ['account', (row) => row.account],
  ['collections', (row) => row.collections],
  ['points', (row) => row.points],
  ['keys', (row) => (row.keys === 0 ? 'none' : row.keys)],
];

const listing = {
  path: '/vectors/tenants',
  rowsMax: tenantsMax,
  columns,
  empty: 'Nobody has vector data.',
  more: `The list stops after ${tenantsMax} tenants.`,
};

/** `culvert vectors adopt` */
async function adoptTenant(from: string, to: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const adopted = (await admin.request('POST', '/vectors/adopt', { body: { from, to } })) as Row;
    if (flags.json) printJson(adopted);
    else note(`${String(adopted.collections)} collections of '${from}' now belong to '${to}'.`);
    return 0;
  });
}

interface PurgeFlags extends AdminFlags {
  yes?: boolean;
}

/** `culvert vectors purge` */
async function purgeTenant(tenant: string, flags: PurgeFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    if (!flags.yes) {
      const found = (await listRows(admin, listing.path, {}, tenantsMax)).rows.find((row) => row.tenant === tenant);
      if (found === undefined) throw new CommandFailed(`The tenant '${tenant}' has no collections.`);
      const has = `${String(found.collections)} collections with ${String(found.points)} points`;
      throw new CommandFailed(
        `'${tenant}' has ${has}. ${culvert} vectors purge ${tenant} --yes deletes them for ever.`,
      );
    }
    const purged = (await admin.request('POST', '/vectors/purge', { body: { tenant } })) as Row;
    if (flags.json) printJson(purged);
    else note(`${String(purged.collections)} collections of '${tenant}' are deleted.`);
    return 0;
  });
}

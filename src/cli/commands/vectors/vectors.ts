import { culvert, pasted } from '../../../kernel/command-form.ts';
import type { AdminClient } from '../../admin-client.ts';
import { calls, lists, overAdmin } from '../../admin-entries.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CommandBody } from '../../command-table.ts';
import { whole } from '../../options.ts';
import { listRows, type Row } from '../../rows.ts';

const tenantsMax = 100_000;
const tenantsPath = '/vectors/tenants';

const tenantOption = [
  '--tenant <tenant>',
  'whose data: account/name of its key, as vectors list shows it',
  { needed: true },
] as const;

export const vectors: CommandBody = {
  example: 'culvert vectors list',
  commands: {
    list: lists({
      description: 'list the tenants that have vector data',
      example: 'culvert vectors list',
      path: tenantsPath,
      rowsMax: tenantsMax,
      columns: [
        ['tenant', (row) => row.tenant],
        ['account', (row) => row.account],
        ['collections', (row) => row.collections],
        ['points', (row) => row.points],
        ['keys', (row) => (row.keys === 0 ? 'none' : row.keys)],
      ],
      empty: 'No tenant has vector data.',
      more: () => `The list stops after ${tenantsMax} tenants.`,
    }),
    export: overAdmin({
      description: 'write all data of a tenant to a file, as JSON lines: each collection, then its points',
      arguments: [['<file>', 'file to write; an existing one is replaced once the new one is whole']],
      options: [tenantOption],
      example: 'culvert vectors export --tenant dev/laptop laptop.jsonl',
      work: async () => (await import('./vectors-export.ts')).exportVectors,
    }),
    import: overAdmin({
      description: 'write an export into the data of a tenant, with its ids; points with the same ids are replaced',
      arguments: [['<file>', 'a file that culvert vectors export wrote, whichever engine it came from']],
      options: [
        tenantOption,
        [
          '--from-line <number>',
          'continue at the line that a stopped import named',
          { read: whole(1, 1e15), default: 1 },
        ],
      ],
      example: 'culvert vectors import --tenant dev/laptop laptop.jsonl',
      work: async () => (await import('./vectors-import.ts')).importVectors,
    }),
    adopt: calls({
      description: 'move all data of one tenant to another, for example of a revoked key; nobody may write meanwhile',
      arguments: [
        ['<from>', 'tenant that has the data'],
        ['<to>', 'tenant of a key, which has no collection of the same name'],
      ],
      example: 'culvert vectors adopt dev/old-laptop dev/laptop',
      call: 'POST /vectors/adopt',
      body: (_flags, from, to) => ({ from, to }),
      describe: ({ collections }, from, _flags, _from, to) =>
        `${collections} collections of '${from}' now belong to '${to}'.`,
      as: 'note',
    }),
    purge: calls<Row, { yes?: boolean }>({
      description: 'delete all data of a tenant permanently',
      arguments: [['<tenant>', 'whose']],
      options: [['--yes', 'delete it; without this option the command only shows what there is']],
      example: 'culvert vectors purge dev/old-laptop --yes',
      check: async (admin, { yes }, tenant) => (yes ? undefined : refusePurge(admin, tenant)),
      call: 'POST /vectors/purge',
      body: (_flags, tenant) => ({ tenant }),
      describe: ({ collections }, tenant) => `${collections} collections of '${tenant}' are deleted.`,
      as: 'note',
    }),
  },
};

async function refusePurge(admin: AdminClient, tenant = ''): Promise<never> {
  const found = (await listRows(admin, tenantsPath, {}, tenantsMax)).rows.find((row) => row.tenant === tenant);
  if (found === undefined) throw new CommandFailed(`The tenant '${tenant}' has no collections.`);
  const has = `${String(found.collections)} collections with ${String(found.points)} points`;
  throw new CommandFailed(
    `'${tenant}' has ${has}. ${culvert} vectors purge ${pasted(tenant)} --yes deletes them permanently.`,
  );
}

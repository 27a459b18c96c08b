import type { Command } from 'commander';
import { adminOptions, example, type Run, whole } from './options.ts';
import type { CliParts } from './parts.ts';

/** `culvert vectors …` */
export function addVectorsCommands(program: Command, run: Run, parts: CliParts): void {
  const vectors = program
    .command('vectors')
    .description('list, export, import, hand over and delete the vector data of tenants')
    .addHelpText('after', example('culvert vectors list'));
  const tenantOption = ['--tenant <tenant>', 'whose data: account/name of its key, as vectors list shows it'] as const;

  adminOptions(vectors.command('list').description('list the tenants that have vector data'))
    .addHelpText('after', example('culvert vectors list'))
    .action((options) => run(import('./commands/vectors.ts').then(({ listTenants }) => listTenants(options, parts))));

  adminOptions(
    vectors
      .command('export')
      .description('write all that a tenant has to a file, as JSON lines: each collection, then its points')
      .argument('<file>', 'file to write; one that is there is replaced once the new one is whole')
      .requiredOption(...tenantOption),
  )
    .addHelpText('after', example('culvert vectors export --tenant dev/laptop laptop.jsonl'))
    .action((file, options) =>
      run(import('./commands/vectors-export.ts').then(({ exportVectors }) => exportVectors(file, options, parts))),
    );

  adminOptions(
    vectors
      .command('import')
      .description('write what an export holds for a tenant, ids and all; points with the same ids are replaced')
      .argument('<file>', 'a file that culvert vectors export wrote, from whichever engine')
      .requiredOption(...tenantOption)
      .option('--from-line <number>', 'go on where an import stopped: it named the line', whole(1, 1e15), 1),
  )
    .addHelpText('after', example('culvert vectors import --tenant dev/laptop laptop.jsonl'))
    .action((file, options) =>
      run(import('./commands/vectors-import.ts').then(({ importVectors }) => importVectors(file, options, parts))),
    );

  adminOptions(
    vectors
      .command('adopt')
      .description("make all of one tenant another's, such as of a key that was revoked; nobody may write meanwhile")
      .argument('<from>', 'tenant that has it')
      .argument('<to>', 'tenant of a key, which has nothing of the same name'),
  )
    .addHelpText('after', example('culvert vectors adopt dev/old-laptop dev/laptop'))
    .action((from, to, options) =>
      run(import('./commands/vectors.ts').then(({ adoptTenant }) => adoptTenant(from, to, options, parts))),
    );

  adminOptions(
    vectors
      .command('purge')
      .description('delete all that a tenant has, for ever')
      .argument('<tenant>', 'whose')
      .option('--yes', 'do it; without this it only says what there is'),
  )
    .addHelpText('after', example('culvert vectors purge dev/old-laptop --yes'))
    .action((tenant, options) =>
      run(import('./commands/vectors.ts').then(({ purgeTenant }) => purgeTenant(tenant, options, parts))),
    );
}

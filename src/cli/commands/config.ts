import type { Command } from 'commander';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { configOption, example, type Run, urlOption } from '../options.ts';
import type { CliParts } from '../parts.ts';

/** `culvert config …` */
export function declare(config: Command, run: Run, parts: CliParts): void {
  config.addHelpText('after', example('culvert config export'));

  config
    .command('export')
    .description(
      'print the configuration file with what was set up at run time, without keys and operators; secrets are variables',
    )
    .option(...urlOption)
    .option(...configOption)
    .addHelpText('after', example('culvert config export > culvert.yaml'))
    .action((options) => run(exportConfig(options, parts)));
}

/** `culvert config export`: as YAML, into a pipe too. */
async function exportConfig(flags: AdminFlags, parts: CliParts): Promise<number> {
  await withAdmin(flags, parts, async (admin) => {
    for await (const piece of admin.read('/config/export')) process.stdout.write(piece);
  });
  return 0;
}

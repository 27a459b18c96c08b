import type { Command } from 'commander';
import { parse } from 'yaml';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { configOption, example, quietOption, type Run, urlOption } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { printJson, writeOut } from '../print.ts';

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
    .option('--json', 'print it as JSON, errors too')
    .option(...quietOption)
    .addHelpText('after', example('culvert config export > culvert.yaml'))
    .action((options) => run(exportConfig(options, parts)));
}

/** `culvert config export`: as YAML, into a pipe too; JSON only when asked. */
async function exportConfig(flags: AdminFlags, parts: CliParts): Promise<number> {
  const pieces: string[] = [];
  await withAdmin(flags, parts, async (admin) => {
    for await (const piece of admin.read('/config/export')) pieces.push(piece);
  });
  if (flags.json) printJson(parse(pieces.join('')));
  else writeOut(pieces.join(''));
  return 0;
}

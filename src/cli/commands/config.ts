import { parse } from 'yaml';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import type { CommandBody } from '../command-table.ts';
import { configOption, quietOption, urlOption } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { printJson, writeOut } from '../print.ts';

export const config: CommandBody = {
  example: 'culvert config export',
  commands: {
    export: {
      description:
        'print the configuration file with what was set up at run time, without keys and operators; secrets are variables',
      options: [urlOption, configOption, ['--json', 'print it as JSON, errors too'], quietOption],
      example: 'culvert config export > culvert.yaml',
      work: () => exportConfig,
    },
  },
};

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

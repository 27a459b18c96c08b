import { type Command, Option } from 'commander';
import { type AdminFlags, adminCall } from '../admin-client.ts';
import { adminOptions, listOf, type Run } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { printReply } from '../print.ts';

/** `culvert models add` and `remove`, below the command that lists. */
export function declareKept(models: Command, run: Run, parts: CliParts): void {
  adminOptions(
    models
      .command('add')
      .description('create a model that callers can name; every replica serves it at once')
      .argument('<id>', 'the name that callers use')
      .requiredOption('--targets <targets>', 'where it runs, in order: provider/model,…', listOf('openai/gpt-4o'))
      .option('--fallbacks <models>', 'other models, which are tried after all targets', listOf('fast,cheap'))
      .addOption(new Option('--type <type>', 'its type').choices(types))
      .option('--tier <tier>', 'group of models with separate limits')
      .option('--cost <units>', 'units that a request costs', Number),
    'culvert models add smart --targets openai/gpt-4o,anthropic/claude-sonnet-4-5',
  ).action((id, options) => run(addModel(id, options, parts)));

  adminOptions(
    models
      .command('remove')
      .description('remove a stored model; running requests finish')
      .argument('<id>', 'the name that callers use'),
    'culvert models remove smart',
  ).action((id, options) => run(removeModel(id, options, parts)));
}

/** As the configuration has them, whose schema this does not load. */
const types = ['chat', 'embedding', 'speech', 'transcription', 'image', 'video', 'rerank'];

interface AddFlags extends AdminFlags {
  targets: readonly string[];
  fallbacks?: readonly string[];
  type?: string;
  tier?: string;
  cost?: number;
}

async function addModel(id: string, flags: AddFlags, parts: CliParts): Promise<number> {
  const { fallbacks, type, tier, cost } = flags;
  // The first is tried first: in a file they would share the requests.
  const targets = flags.targets.map((target, index) => {
    const slash = target.indexOf('/');
    return { provider: target.slice(0, Math.max(0, slash)), model: target.slice(slash + 1), priority: index + 1 };
  });
  const body = {
    id,
    targets,
    ...(fallbacks !== undefined && { fallbacks }),
    ...(type !== undefined && { type }),
    ...(tier !== undefined && { tier }),
    ...(cost !== undefined && { cost }),
  };
  printReply(flags, await adminCall(flags, parts, 'POST', '/models', body), `Model '${id}' is stored.`);
  return 0;
}

async function removeModel(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/models/${encodeURIComponent(id)}`;
  printReply(flags, await adminCall(flags, parts, 'DELETE', path), `Model '${id}' is removed.`);
  return 0;
}

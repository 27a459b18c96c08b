import { calls } from '../admin-entries.ts';
import type { CommandTable } from '../command-table.ts';
import { listOf } from '../options.ts';
import type { Row } from '../rows.ts';
import { changesSettings } from '../stored-settings.ts';

/** Types as the configuration has them, whose schema this does not load. */
const types = ['chat', 'embedding', 'speech', 'transcription', 'image', 'video', 'rerank'];

/** `culvert models add` and `remove`, below the command that lists. */
export const storedModels: CommandTable = {
  add: calls<Row, AddFlags>({
    description: 'create a model that callers can name; every replica serves it at once',
    arguments: [['<id>', 'the name that callers use']],
    options: [
      [
        '--targets <targets>',
        'where it runs, in order: provider/model,…',
        { read: listOf('openai/gpt-6.1-sol'), needed: true },
      ],
      ['--fallbacks <models>', 'other models, which are tried after all targets', { read: listOf('fast,cheap') }],
      ['--type <type>', 'its type', { choices: types }],
      ['--tier <tier>', 'group of models with separate limits'],
      ['--cost <units>', 'units that a request costs', { read: Number }],
    ],
    example: 'culvert models add smart --targets openai/gpt-6.1-sol,anthropic/claude-sonnet-5-5',
    call: 'POST /models',
    body: newModel,
    describe: (_model, id) => `Model '${id}' is stored.`,
  }),
  change: changesSettings('Model', `culvert models change smart --settings '{"fallbacks":["fast"]}'`),
  restore: calls<Row>({
    description: 'restore a variant that was taken out because it was clearly worse',
    arguments: [
      ['<id>', 'the name that callers use'],
      ['<variant>', 'name of the variant'],
    ],
    example: 'culvert models restore smart b',
    call: 'POST /models/{id}/variants/{variant}/restore',
    describe: ({ variant }, id) => `The variant '${variant}' of '${id}' takes part again.`,
  }),
  remove: calls({
    description: 'remove a stored model; running requests finish',
    arguments: [['<id>', 'the name that callers use']],
    example: 'culvert models remove smart',
    call: 'DELETE /models/{id}',
    describe: (_model, id) => `Model '${id}' is removed.`,
  }),
};

interface AddFlags {
  targets: readonly string[];
  fallbacks?: readonly string[];
  type?: string;
  tier?: string;
  cost?: number;
}

function newModel({ targets, fallbacks, type, tier, cost }: AddFlags, id: string): Record<string, unknown> {
  return {
    id,
    // The first is tried first: in a file they would share the requests.
    targets: targets.map((target, index) => {
      const slash = target.indexOf('/');
      return { provider: target.slice(0, Math.max(0, slash)), model: target.slice(slash + 1), priority: index + 1 };
    }),
    fallbacks,
    type,
    tier,
    cost,
  };
}

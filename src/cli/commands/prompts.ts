import { calls, lists } from '../admin-entries.ts';
import type { CommandBody, OptionEntry } from '../command-table.ts';
import { listOf, whole } from '../options.ts';
import { originOf, type Row } from '../rows.ts';
import { removesStored } from '../stored-settings.ts';

const text: readonly OptionEntry[] = [
  ['--system <text>', 'its system message; {{name}} is a variable', { needed: true }],
  ['--user <text>', 'a message of the user after it'],
  [
    '--variables <names>',
    'its variables, of text or as name:number and name:boolean',
    { read: listOf('tone,words:number') },
  ],
  ['--model <model>', 'the model that answers'],
];

export const prompts: CommandBody = {
  example: 'culvert prompts list',
  commands: {
    list: lists({
      description: 'list prompts with their versions and labels',
      example: 'culvert prompts list',
      path: '/prompts',
      rowsMax: 1_000,
      columns: [
        ['prompt', ({ name }) => name],
        ['from', originOf],
        ['versions', ({ versions }) => (versions as Row[]).length],
        ['labels', labelsOf],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no prompt.',
    }),
    show: calls({
      description: 'show the versions of a prompt',
      arguments: [['<name>', 'its name']],
      example: 'culvert prompts show reply',
      call: 'GET /prompts/{name}',
      as: 'exact',
      describe: async ({ labels, versions }) => (await import('yaml')).stringify({ labels, versions }).trimEnd(),
    }),
    add: calls<Row, TextFlags>({
      description: 'create a prompt; every replica serves it at once',
      arguments: [['<name>', 'requests name it as prompt/NAME']],
      options: text,
      example: "culvert prompts add reply --system 'Reply in a {{tone}} tone.' --variables tone --model smart",
      call: 'POST /prompts',
      body: (flags, name) => ({ name, ...textOf(flags) }),
      describe: (_prompt, name) => `Prompt '${name}' is stored as version 1.`,
    }),
    version: calls<Row, TextFlags & { labels?: string[] }>({
      description: 'add the next version of a prompt; without a label it is a draft',
      arguments: [['<name>', 'its name']],
      options: [...text, ['--labels <labels>', 'labels that it gets', { read: listOf('production') }]],
      example: "culvert prompts version reply --system 'Be brief.' --model smart",
      call: 'POST /prompts/{name}/versions',
      body: ({ labels, ...flags }) => ({ ...textOf(flags), labels }),
      describe: ({ versions }, name) => `Prompt '${name}' has version ${(versions as Row[])[0]?.number} now.`,
    }),
    label: calls<Row, { label: string; to: number }>({
      description: 'give a label to a version of a prompt, which the next request uses',
      arguments: [['<name>', 'its name']],
      options: [
        ['--label <label>', 'the label, such as production', { needed: true }],
        ['--to <number>', 'the version that gets it', { read: whole(1, 999_999), needed: true }],
      ],
      example: 'culvert prompts label reply --label production --to 2',
      call: 'POST /prompts/{name}/labels',
      body: ({ label, to }) => ({ label, version: to }),
      describe: (prompt, name) => `Prompt '${name}': ${labelsOf(prompt)}`,
    }),
    remove: removesStored('Prompt', 'remove the stored versions of a prompt', 'culvert prompts remove reply'),
  },
};

interface TextFlags {
  system: string;
  user?: string;
  variables?: string[];
  model?: string;
}

function textOf({ system, user, variables, model }: TextFlags): Record<string, unknown> {
  const turns = [{ role: 'system', content: system }, ...(user === undefined ? [] : [{ role: 'user', content: user }])];
  const typed = variables?.map((variable) => {
    const [name, type = 'string'] = variable.split(':');
    return [name, type];
  });
  return { messages: turns, variables: typed === undefined ? undefined : Object.fromEntries(typed), model };
}

function labelsOf({ labels }: Row): string {
  const pairs = Object.entries(labels as Record<string, number>);
  return pairs.map(([label, version]) => `${label}=${version}`).join(' ');
}

import type { AdminFlags } from '../admin-client.ts';
import { lists, overAdmin } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import { listOf, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { originOf } from '../rows.ts';
import { removesStored, setStored, showsSettings } from '../stored-settings.ts';
import { routeSavings } from './route-savings.ts';

export const routes: CommandBody = {
  example: 'culvert routes list',
  commands: {
    list: lists({
      description: 'list rules for routes in the order in which they are tried',
      example: 'culvert routes list',
      path: '/routes',
      rowsMax: 1_000,
      columns: [
        ['rule', ({ name }) => name],
        ['from', originOf],
        ['order', ({ order }) => order],
        ['when', ({ when }) => when ?? 'always'],
        ['effects', ({ effects }) => (effects as string[]).join(', ')],
        ['', ({ enabled }) => (enabled === false ? 'off' : '')],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no rule.',
    }),
    show: showsSettings('/routes', 'a rule', 'culvert routes show night'),
    set: overAdmin({
      description: 'create a rule, or change settings of a stored one; it applies from the next request on',
      arguments: [['<name>', 'records and refusals name it so']],
      options: [
        ['--when <condition>', 'the condition in CEL; none: each request'],
        ['--model <model>', 'the model that answers'],
        ['--targets <targets>', 'targets that may answer', { read: listOf('openai/gpt-5.1,azure') }],
        ['--tag <tag>', 'the tag by which its usage is grouped'],
        ['--refuse <message>', 'refuse the request with this message'],
        ['--order <number>', 'its place; lower ones come first', { read: whole(0, 10_000) }],
        ['--settings <json>', 'settings as in culvert.yaml, in JSON; other options come on top'],
      ],
      example: `culvert routes set long --when 'plan == "free" && tokens > 8000' --model cheap`,
      work: () => setRoute,
    }),
    savings: routeSavings,
    delete: removesStored('Rule', 'delete a stored rule', 'culvert routes delete night'),
  },
};

interface SetFlags {
  when?: string;
  model?: string;
  targets?: string[];
  tag?: string;
  refuse?: string;
  order?: number;
  settings?: string;
}

const storedRules = { path: '/routes', title: 'Rule', example: '{"continue":true,"tag":"night"}' };

function setRoute(name: string, flags: AdminFlags & SetFlags, parts: CliParts): Promise<number> {
  const { when, model, targets, tag, order, refuse: message } = flags;
  const refuse = message === undefined ? undefined : { message };
  return setStored(storedRules, name, flags, parts, { when, model, targets, tag, order, refuse });
}

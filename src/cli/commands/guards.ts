import type { AdminFlags } from '../admin-client.ts';
import { lists, overAdmin } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import { listOf } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { originOf, type Row } from '../rows.ts';
import { removesStored, setStored, showsSettings } from '../stored-settings.ts';
import { guardTest } from './guard-test.ts';

export const guards: CommandBody = {
  example: 'culvert guards list',
  commands: {
    list: lists({
      description: 'list guards with their origin and what names them',
      example: 'culvert guards list',
      path: '/guards',
      rowsMax: 1_000,
      columns: [
        ['guard', ({ name }) => name],
        ['from', originOf],
        ['check', ({ check }) => check],
        ['action', ({ action }) => action],
        ['mode', ({ mode }) => mode],
        ['used by', usersOf],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no guard.',
    }),
    show: showsSettings('/guards', 'a guard', 'culvert guards show pii'),
    set: overAdmin({
      description: 'create a guard, or change settings of a stored one; it applies from the next request on',
      arguments: [['<name>', 'models, plans, accounts and keys name it so']],
      options: [
        ['--check <check>', 'what it looks for, such as personal-data, secrets, patterns or words'],
        ['--action <action>', 'block, mask, flag or route'],
        ['--kinds <kinds>', 'kinds of personal data or secrets', { read: listOf('email,card') }],
        ['--pattern <pattern...>', 'a regular expression; may come several times'],
        ['--words <words>', 'words and phrases', { read: listOf('Project Falcon,Project Owl') }],
        ['--route-to <model>', 'the model that `route` asks'],
        ['--on <directions>', 'input, output or both', { read: listOf('input,output') }],
        ['--mode <mode>', 'enforce or observe'],
        ['--on-error <what>', 'deny or allow requests of which it cannot read a part'],
        ['--settings <json>', 'settings as in culvert.yaml, in JSON; other options come on top'],
      ],
      example: 'culvert guards set pii --check personal-data --kinds email,card --action mask',
      work: () => setGuard,
    }),
    test: guardTest,
    delete: removesStored('Guard', 'delete a stored guard that nothing names', 'culvert guards delete pii'),
  },
};

interface SetFlags {
  check?: string;
  action?: string;
  kinds?: string[];
  pattern?: string[];
  words?: string[];
  routeTo?: string;
  on?: string[];
  mode?: string;
  onError?: string;
  settings?: string;
}

const storedGuards = { path: '/guards', title: 'Guard', example: '{"check":"secrets","action":"block"}' };

function setGuard(name: string, flags: AdminFlags & SetFlags, parts: CliParts): Promise<number> {
  const { check, action, kinds, pattern: patterns, words, routeTo: route_to, on, mode, onError: on_error } = flags;
  const given = { check, action, kinds, patterns, words, route_to, on, mode, on_error };
  return setStored(storedGuards, name, flags, parts, given);
}

function usersOf({ used_by }: Row): string {
  const { server, ...named } = used_by as { server: boolean } & Record<string, string[]>;
  const all = Object.values(named).flat();
  return [...(server ? ['all requests'] : []), ...all.slice(0, 5), ...(all.length > 5 ? ['…'] : [])].join(', ');
}

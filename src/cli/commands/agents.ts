import { calls, lists } from '../admin-entries.ts';
import { bearerOf } from '../bearer-of.ts';
import type { CommandBody } from '../command-table.ts';
import { originOf, type Row } from '../rows.ts';
import { changesSettings, removesStored } from '../stored-settings.ts';

export const agents: CommandBody = {
  example: 'culvert agents list',
  commands: {
    list: lists({
      description: 'list agents with their origin and their health',
      example: 'culvert agents list',
      path: '/agents',
      rowsMax: 1_000,
      columns: [
        ['agent', ({ name }) => name],
        ['from', originOf],
        ['status', ({ status }) => status],
        ['versions', ({ versions }) => (versions as string[]).join(', ')],
        ['address', ({ url }) => url],
        ['problem', ({ problem, why }) => problem ?? why],
      ],
      empty: 'There is no agent.',
    }),
    add: calls<Row, { tokenEnv?: string }>({
      description: 'store an agent; every replica takes messages for it at once',
      arguments: [
        ['<name>', 'name of the agent: callers reach it at /a2a/NAME'],
        ['<address>', 'its URL, below which its card is'],
      ],
      options: [['--token-env <variable>', 'variable whose value is sent as `Authorization: Bearer …`']],
      example: 'culvert agents add planner https://agents.example.org/planner',
      call: 'POST /agents',
      body: ({ tokenEnv }, name, url) => ({ name, url, headers: bearerOf(tokenEnv) }),
      describe: (_agent, name) => `Agent '${name}' is stored.`,
    }),
    test: calls({
      description: 'read the card of an agent now',
      arguments: [['<name>', 'its name']],
      example: 'culvert agents test planner',
      call: 'POST /agents/{name}/test',
      describe: ({ status, why, versions, skills }, name) =>
        status === 'up'
          ? `${name}: up, speaks A2A ${(versions as string[]).join(' and ')}, with the skills ${(skills as string[]).join(', ')}.`
          : `${name}: ${status}. ${why ?? 'No server runs that could ask it.'}`,
      ok: ({ status }) => status === 'up',
    }),
    change: changesSettings('Agent', `culvert agents change planner --settings '{"cost":5}'`),
    remove: removesStored('Agent', 'remove a stored agent', 'culvert agents remove planner'),
  },
};

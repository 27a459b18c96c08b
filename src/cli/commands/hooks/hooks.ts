import type { CommandBody } from '../../command-table.ts';
import { adminOptions } from '../../options.ts';

export const hooks: CommandBody = {
  example: 'culvert hooks new team-rules',
  commands: {
    new: {
      description: 'write a hook with its types and its test, and say how to use it',
      arguments: [['<name>', 'its name']],
      options: [['--folder <folder>', 'folder for both files', { default: 'hooks' }]],
      example: 'culvert hooks new team-rules',
      work: async () => (await import('./hook-new.ts')).newHook,
    },
    test: {
      description: 'run hooks of the configuration on a request, and show their checked replies',
      arguments: [['[name]', 'the hook (default: all)']],
      options: [
        ['--body <file>', 'JSON body of a request; - reads standard input'],
        ['--request <id>', 'a request whose body the server keeps, in place of --body'],
        ['--answer <text>', 'an answer for onAnswer or onEvent'],
        ['--account <account>', 'account of the caller', { default: 'test' }],
        ['--endpoint <name>', 'endpoint as the ledger names it', { default: 'chat' }],
        ...adminOptions,
      ],
      example: 'culvert hooks test team-rules --body request.json',
      work: async () => (await import('./hook-test.ts')).testHooks,
    },
  },
};

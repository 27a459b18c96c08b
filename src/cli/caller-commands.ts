import type { Command } from 'commander';
import { configOption, example, jsonOption, keyOption, quietOption, type Run, urlOption } from './options.ts';
import type { CliParts } from './parts.ts';

/** Commands that use the running server as its callers do, by an API key: models, chat, mcp. `models` gets more. */
export function addCallerCommands(program: Command, run: Run, parts: CliParts): { models: Command } {
  const models = program
    .command('models')
    .description('list models of the running server, or of the configuration; add and remove them')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert models'))
    .action((options) => run(import('./commands/models.ts').then(({ models }) => models(options, parts))));

  program
    .command('chat')
    .description('ask the running server a question and print the answer as it comes')
    .argument('<text>', 'the question; - reads standard input')
    .option('--model <model>', 'model to ask (default: the first listed that chats)')
    .option('--system <text>', 'instructions before the question')
    .option('--no-stream', 'wait for the whole answer')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .option('--json', "print the server's whole answer as JSON, errors too")
    .option(...quietOption)
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert chat "Why is the sky blue?" --model smart'))
    .action((text, options) => run(import('./commands/chat.ts').then(({ chat }) => chat(text, options))));

  program
    .command('mcp')
    .description('run an MCP server on standard input and output, with the tools of the running server, for assistants')
    .option(...urlOption)
    .option(...keyOption)
    .option(...configOption)
    .addHelpText('after', example('CULVERT_API_KEY=sk-cv-… culvert mcp --url http://127.0.0.1:4141'))
    .action((options) => run(import('./commands/mcp.ts').then(({ mcp }) => mcp(options))));
  return { models };
}

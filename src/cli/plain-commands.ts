import { InvalidArgumentError } from 'commander';
import type { CommandTable, TopCommand } from './command-table.ts';
import type { CheckFlags } from './commands/check.ts';
import {
  adminOptions,
  callerOptions,
  configOption,
  jsonOption,
  keyOption,
  localOptions,
  quietOption,
  urlOption,
  whole,
} from './options.ts';
import type { CliParts } from './parts.ts';
import { portNumber } from './start-options.ts';

const startAndConfigure = 'Start and configure:';
const askModels = 'Ask models:';

const output = [
  '--output <file>',
  'file to write, which must not exist; - prints it',
  { default: 'culvert.yaml' },
] as const;

/** Commands that start, write or explain a configuration, or use the running server as its callers do. */
export const firstCommands: Readonly<Record<string, TopCommand>> = {
  start: {
    group: startAndConfigure,
    description: 'start the gateway',
    options: [
      configOption,
      ['--host <address>', 'address to listen on, over the configuration'],
      ['--port <number>', 'port to listen on, over the configuration', { read: checkedPort }],
    ],
    example: 'OPENAI_API_KEY=… culvert start --port 4141',
    serves: true,
    work:
      () =>
      ({ config, host, port }: { config?: string; host?: string; port?: number }, parts: CliParts) =>
        parts.start({ config: config || undefined, host: host || undefined, port }),
  },
  init: {
    group: startAndConfigure,
    description: 'write a commented configuration file; an existing one stays as it is',
    arguments: [['[file]', 'file to write', { default: 'culvert.yaml' }]],
    options: [jsonOption],
    example: 'culvert init',
    work: async () => (await import('./commands/init.ts')).init,
  },
  check: {
    group: startAndConfigure,
    description: 'check the configuration, every error with file:line:column',
    arguments: [['[file]', 'the same as --config']],
    options: [
      configOption,
      [
        '--live',
        'ask each provider and credential for its list of models, ask each search engine, and look for local servers',
      ],
      ['--schema', 'print the JSON Schema of culvert.yaml, for editors, and check nothing'],
      jsonOption,
      quietOption,
    ],
    example: 'culvert check --live',
    async work() {
      const { check } = await import('./commands/check.ts');
      return (file: string | undefined, flags: CheckFlags, parts: CliParts) =>
        check({ ...flags, config: file ?? flags.config }, parts);
    },
  },
  explain: {
    group: startAndConfigure,
    description: 'explain what would happen to a request, without sending it',
    arguments: [['<file>', 'JSON body of a request; - reads standard input']],
    options: [
      // As `commands/explain.ts` has them, which this does not load.
      [
        '--endpoint <name>',
        'where it would be posted',
        { choices: ['chat', 'messages', 'responses', 'embeddings'], default: 'chat' },
      ],
      ['--key <key>', 'limit it to what this key may use: its id, account/name or secret'],
      ['--header <header...>', 'a header that rules look at, such as "x-team: core"; may come several times'],
      configOption,
      jsonOption,
    ],
    example: `echo '{"model": "smart", "messages": [{"role": "user", "content": "Hi"}]}' | culvert explain -`,
    work: async () => (await import('./commands/explain.ts')).explain,
  },
  models: {
    group: askModels,
    description: 'list models of the running server, or of the configuration; add and remove them',
    options: callerOptions,
    example: 'CULVERT_API_KEY=sk-cv-… culvert models',
    work: async () => (await import('./commands/models.ts')).models,
    load: async () => ({ commands: (await import('./commands/stored-models.ts')).storedModels }),
  },
  chat: {
    group: askModels,
    description: 'ask the running server a question and print the answer as it comes',
    arguments: [['<text>', 'the question; - reads standard input']],
    options: [
      ['--model <model>', 'model to ask (default: the first listed that chats)'],
      ['--system <text>', 'instructions before the question'],
      ['--no-stream', 'wait for the whole answer'],
      urlOption,
      keyOption,
      configOption,
      ['--json', "print the server's whole answer as JSON, errors too"],
      quietOption,
    ],
    example: 'CULVERT_API_KEY=sk-cv-… culvert chat "Why is the sky blue?" --model smart',
    work: async () => (await import('./commands/chat.ts')).chat,
  },
  mcp: {
    group: askModels,
    description: 'run an MCP server on standard input and output, with the tools of the running server, for assistants',
    options: [urlOption, keyOption, configOption],
    example: 'CULVERT_API_KEY=sk-cv-… culvert mcp --url http://127.0.0.1:4141',
    work: async () => (await import('./commands/mcp.ts')).mcp,
  },
};

const importers: CommandTable = {
  litellm: {
    description: "convert LiteLLM's config.yaml and database; list by line what could not be carried over",
    arguments: [['[file]', 'configuration of a LiteLLM proxy']],
    options: [
      ['--database [url]', "LiteLLM's PostgreSQL, for its keys, teams, budgets and models; alone: DATABASE_URL"],
      output,
      jsonOption,
    ],
    example: 'culvert import litellm config.yaml --output culvert.yaml',
    work: async () => (await import('./commands/import.ts')).importFromLiteLlm,
  },
  openrouter: {
    description:
      'make models and keys from exports of OpenRouter and its clients; list by line what could not be carried over',
    arguments: [
      ['<files...>', 'answers of its API (activity, keys, models, presets), CSV, requests, configurations of clients'],
    ],
    options: [output, jsonOption],
    example: 'culvert import openrouter activity.json',
    work: async () => (await import('./commands/import.ts')).importFromOpenRouter,
  },
  portkey: {
    description: "convert Portkey's configs; list by line what could not be carried over",
    arguments: [['<files...>', 'configs as JSON, and answers of its API: configs, virtual keys, providers']],
    options: [output, jsonOption],
    example: 'culvert import portkey config.json virtual-keys.json',
    work: async () => (await import('./commands/import.ts')).importFromPortkey,
  },
};

const keepData = 'Keep data:';
const tryAndMeasure = 'Try and measure:';

/** Commands that look after an installation, and that come from elsewhere or try something. */
export const lastCommands: Readonly<Record<string, TopCommand>> = {
  doctor: {
    group: startAndConfigure,
    description: 'check everything that a server needs, and say how to repair it',
    options: [
      ['--live', 'ask each provider and credential for its list of models, and each search engine'],
      ['--url <url>', 'server to ask about itself (default: CULVERT_URL where it is not on this machine, else none)'],
      ...localOptions,
    ],
    example: 'culvert doctor --live',
    work: async () => (await import('./commands/doctor.ts')).doctor,
  },
  reload: {
    group: startAndConfigure,
    description: 'have the running server read its configuration again',
    options: [...adminOptions, ['--force', 'accept it even if it drops every declared key']],
    example: 'culvert check && culvert reload',
    work: async () => (await import('./commands/reload.ts')).reload,
  },
  migrate: {
    group: keepData,
    description: 'bring the schema of the databases to this version, as the next start would',
    options: [['--check', 'only list what is pending; exits with status 1 if there is any'], ...localOptions],
    example: 'culvert migrate --check',
    work: async () => (await import('./commands/migrate.ts')).migrate,
  },
  backup: {
    group: keepData,
    description: 'write all data (accounts, ledger, vectors, pages, crawls) to a file, while servers run',
    arguments: [['<file>', 'file to write; an older backup is replaced once the new one is whole']],
    options: localOptions,
    example: 'culvert backup culvert-backup.gz',
    work: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    group: keepData,
    description: 'restore a backup into an empty data folder or database, of either kind; no server may run',
    arguments: [['<file>', 'a file that culvert backup wrote']],
    options: [
      ['--yes', 'replace what the data folder holds; the earlier files stay as *.before-restore-<time>'],
      ...localOptions,
    ],
    example: 'culvert restore culvert-backup.gz',
    work: async () => (await import('./commands/restore.ts')).restore,
  },
  bench: {
    group: tryAndMeasure,
    description: 'measure a server with chat requests; they cost what chat requests cost there',
    arguments: [['<url>', 'server to measure, with or without /v1']],
    options: [
      keyOption,
      ['--model <model>', 'model to ask (default: the first listed that chats)'],
      ['--concurrency <number>', 'number of concurrent requests', { read: whole(1, 1_000), default: 10 }],
      ['--requests <number>', 'number of requests (default: 1000)', { read: whole(1, 1_000_000) }],
      ['--duration <time>', 'duration such as 30s, instead of --requests; at most 1h'],
      ['--stream', 'ask for streams, and measure the time to first token'],
      ['--max-tokens <number>', 'longest answer', { read: whole(1, 100_000), default: 16 }],
      ['--prompt <text>', 'the question', { default: 'Say hello.' }],
      jsonOption,
      quietOption,
    ],
    example: 'CULVERT_API_KEY=sk-cv-… culvert bench http://127.0.0.1:4141 --model sim/chat --requests 200',
    work: async () => (await import('./commands/bench.ts')).bench,
  },
  add: {
    group: startAndConfigure,
    description: 'add an engine that runs on this machine: its packages by npm, and its model',
    // As `model-manifest.ts` has them, which this does not load.
    arguments: [['[extra]', 'what it is for', { choices: ['embeddings', 'speech', 'transcription'] }]],
    options: [
      ['--model <id>', 'a model other than the default (--list names them)'],
      ['--list', 'list what can be added, what is installed, and how far a download is'],
      ['--yes', 'do not ask for confirmation'],
      ['--offline', 'use no other machine: take what is in the folder and in the cache of npm'],
      [
        '--pin <file>',
        'the installed.json of a model that was added elsewhere: take its commit and refuse any other bytes',
      ],
      ...localOptions,
    ],
    example: 'culvert add speech --yes',
    work: async () => (await import('./commands/add.ts')).add,
  },
  import: {
    group: startAndConfigure,
    description: 'convert the configuration of another gateway into a culvert.yaml',
    example: 'culvert import litellm config.yaml',
    commands: importers,
  },
  mock: {
    group: tryAndMeasure,
    description: 'run an upstream that answers, or fails, as you tell it',
    options: [
      ['--host <address>', 'address to listen on', { default: '127.0.0.1' }],
      ['--port <number>', 'port to listen on; 0 takes a free one', { read: checkedPort, default: 4142 }],
      ['--name <name>', 'name shown in its answers, to tell one mock from another', { default: '' }],
      ['--faults', 'print every fault that it knows, then exit', { conflicts: 'json' }],
      ['--json', 'print its URL as JSON, errors too, and log no requests'],
    ],
    example: 'culvert mock --port 4142',
    serves: true,
    work: async () => (await import('./commands/mock.ts')).mock,
  },
};

function checkedPort(text: string): number {
  const port = portNumber(text);
  if (port === null) throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return port;
}

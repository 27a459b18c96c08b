import type { Command } from 'commander';
import { adminOptions, configOption, example, jsonOption, keyOption, quietOption, type Run, whole } from './options.ts';
import type { CliParts } from './parts.ts';

/** Commands that look after an installation: doctor, reload, migrate, backup, restore, bench. */
export function addUpkeepCommands(program: Command, run: Run, parts: CliParts): void {
  program
    .command('doctor')
    .description('check everything that a server needs, and say how to repair it')
    .option('--live', 'ask each provider and credential for its list of models, and each search engine')
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert doctor --live'))
    .action((options) => run(import('./commands/doctor.ts').then(({ doctor }) => doctor(options, parts))));

  adminOptions(
    program.command('reload').description('have the running server read its configuration again'),
    'culvert check && culvert reload',
  )
    .option('--force', 'take it although it drops every declared key')
    .action((options) => run(import('./commands/reload.ts').then(({ reload }) => reload(options, parts))));

  program
    .command('migrate')
    .description('bring the schema of the databases to this version, as the next start would')
    .option('--check', 'only list what is pending; exits with 1 when there is something')
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert migrate --check'))
    .action((options) => run(import('./commands/migrate.ts').then(({ migrate }) => migrate(options, parts))));

  program
    .command('backup')
    .description('write all data (accounts, ledger, vectors, pages, crawls) to a file, while servers run')
    .argument('<file>', 'file to write; an older backup is replaced once the new one is whole')
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert backup culvert-backup.gz'))
    .action((file, options) => run(import('./commands/backup.ts').then(({ backup }) => backup(file, options, parts))));

  program
    .command('restore')
    .description('restore a backup into an empty data folder or database, of either kind; no server may run')
    .argument('<file>', 'a file that culvert backup wrote')
    .option('--yes', 'replace what the data folder holds; the earlier files stay as *.before-restore-<time>')
    .option(...configOption)
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText('after', example('culvert restore culvert-backup.gz'))
    .action((file, options) =>
      run(import('./commands/restore.ts').then(({ restore }) => restore(file, options, parts))),
    );

  program
    .command('bench')
    .description('measure a server with chat requests; they cost what chat requests cost there')
    .argument('<url>', 'server to measure, with or without /v1')
    .option(...keyOption)
    .option('--model <model>', 'model to ask (default: the first listed that chats)')
    .option('--concurrency <number>', 'number of concurrent requests', whole(1, 1_000), 10)
    .option('--requests <number>', 'number of requests (default: 1000)', whole(1, 1_000_000))
    .option('--duration <time>', 'duration such as 30s, instead of --requests; at most 1h')
    .option('--stream', 'ask for streams, and measure the time to first token')
    .option('--max-tokens <number>', 'longest answer', whole(1, 100_000), 16)
    .option('--prompt <text>', 'the question', 'Say hello.')
    .option(...jsonOption)
    .option(...quietOption)
    .addHelpText(
      'after',
      example('CULVERT_API_KEY=sk-cv-… culvert bench http://127.0.0.1:4141 --model sim/chat --requests 200'),
    )
    .action((url, options) => run(import('./commands/bench.ts').then(({ bench }) => bench(url, options))));
}

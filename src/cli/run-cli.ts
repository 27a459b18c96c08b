import { CommandFailed } from './command-failed.ts';
import type { CliParts } from './parts.ts';
import { note, printJson, requestsJson, secretOutput } from './print.ts';
import { endProgress } from './progress.ts';
import { startArguments } from './start-options.ts';

/**
 * Runs one command line; resolves to the exit code once the command has ended: 0 done, 1 failed, 2 called wrongly.
 * Every command loads its own code when it is called, so that help and wrong calls answer at once.
 */
export async function runCli(argv: readonly string[], parts: CliParts): Promise<number> {
  let reader: 'needed' | 'may leave' = 'needed';
  // `culvert models | head -1`: the reader has read enough. A server goes on without its reader. On a full disk the
  // result is lost, which must not look like success.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (reader === 'may leave' || secretOutput.writing) return;
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`The output could not be written (${error.code ?? error.message}).\n`);
    process.exit(1);
  });
  try {
    const start = startArguments(argv);
    if (start !== null) {
      reader = 'may leave';
      return await parts.start(start);
    }
    const { runProgram } = await import('./program.ts');
    return await runProgram(argv, parts, () => {
      reader = 'may leave';
    });
  } catch (error) {
    endProgress();
    const failed = error instanceof CommandFailed ? error : await unusable(error);
    if (requestsJson(argv)) {
      printJson({ error: errorObject(failed ?? new CommandFailed(String(error))) });
      if (failed === null) console.error(error);
      return failed?.exitCode ?? 1;
    }
    if (failed === null) throw error;
    note(failed.message);
    return failed.exitCode;
  }
}

/** Error object as docs/cli.md promises it. */
function errorObject({ message, exitCode, refusal }: CommandFailed) {
  const type = exitCode === 2 ? 'wrong_call' : refusal === null ? 'failed' : 'refused';
  return { message, type, exit_code: exitCode, status: refusal?.status ?? null, param: refusal?.param ?? null };
}

/** Every command opens the stores in its own way; what keeps it from that needs the same sentence. */
async function unusable(error: unknown): Promise<CommandFailed | null> {
  const [sqlite, postgres] = await Promise.all([
    import('../stores/sqlite/data-folder.ts'),
    import('../stores/postgres/open.ts'),
  ]);
  const why = sqlite.whyUnusable(error) ?? postgres.whyUnusable(error, 'of storage.database');
  return why === null ? null : new CommandFailed(why);
}

import { CommandFailed } from './command-failed.ts';
import { fitted, lineWidth } from './line-width.ts';
import { endProgress, type PrintFlags } from './progress.ts';
import { plainLines } from './table.ts';

/** Whether `--json` is among the options; behind `--` it is an argument. */
export function requestsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Whether a list is printed as JSON: on request, and wherever no person reads it (design §16). */
export function listForm(flags: PrintFlags): 'json' | 'table' {
  return flags.json === true || process.stdout.isTTY !== true ? 'json' : 'table';
}

/** For people, so no wider than their terminal. */
export function print(text: string): void {
  printExact(fitted(plainLines(text), lineWidth(process.stdout)));
}

/** Prints text that is pasted or read by programs: its lines stay as they are. */
export function printExact(text: string): void {
  writeOut(`${text}\n`);
}

/** A reply: as JSON where a program reads it, else a sentence about it. */
export function printReply(flags: PrintFlags, reply: unknown, sentence: string): void {
  if (listForm(flags) === 'json') printJson(reply);
  else print(sentence);
}

/** While a secret is written, who made it answers for an output that takes nothing. */
export const secretOutput = { writing: false };

/**
 * A new secret: alone on standard output, so that `KEY=$(culvert …)` takes it. The sentence says whose it is. Rejects where
 * nobody has it: `remedy` does what can be done, and says what it was.
 */
export async function printSecret(
  flags: PrintFlags,
  made: Readonly<Record<string, unknown>>,
  sentence: string,
  remedy: () => Promise<string>,
): Promise<void> {
  if (flags.json !== true) note(sentence);
  const text = flags.json === true ? JSON.stringify(made, null, 2) : String(made.key);
  endProgress();
  secretOutput.writing = true;
  const lost = await new Promise<NodeJS.ErrnoException | null | undefined>((written) =>
    process.stdout.write(`${text}\n`, written),
  );
  if (lost)
    throw new CommandFailed(`The output could not be written (${lost.code ?? lost.message}). ${await remedy()}`);
}

/** A piece of what comes bit by bit. */
export function writeOut(text: string): void {
  endProgress();
  process.stdout.write(text);
}

export function printJson(value: unknown): void {
  printExact(JSON.stringify(value, null, 2));
}

/** For people, in addition to the result: a pipe that takes stdout does not get it. */
export function note(text: string): void {
  endProgress();
  process.stderr.write(`${fitted(plainLines(text), lineWidth(process.stderr))}\n`);
}

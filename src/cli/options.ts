import { InvalidArgumentError } from 'commander';
import { culvert } from '../kernel/command-form.ts';
import { helpWidth } from './line-width.ts';

/** Takes a command's work, whose result is the exit code. */
export type Run = (work: Promise<number>) => Promise<void>;

export const configOption = [
  '--config <file>',
  'configuration file (default: CULVERT_CONFIG, ./culvert.yaml, or none)',
] as const;
export const jsonOption = ['--json', 'print JSON, errors too'] as const;
export const quietOption = ['--quiet', 'show no progress'] as const;
export const urlOption = [
  '--url <url>',
  'server to ask (default: CULVERT_URL, or the server of the data folder)',
] as const;
export const keyOption = [
  '--key <key>',
  'API key (better in CULVERT_API_KEY, because the process list shows this option)',
] as const;

/** Values of the options of commands that work here, without a server. */
export interface LocalFlags {
  config?: string | undefined;
  json?: boolean | undefined;
  quiet?: boolean | undefined;
}

/** Options of commands that work here, without a server. */
export const localOptions = [configOption, jsonOption, quietOption] as const;
/** Options of commands that ask the running server as its callers do. */
export const callerOptions = [urlOption, keyOption, configOption, jsonOption, quietOption] as const;
/** Options of commands over the admin API. Its key is found or comes from the environment, never from a command line. */
export const adminOptions = [urlOption, configOption, jsonOption, quietOption] as const;

/** A whole number within bounds, as commander reads options. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** Values parted by commas; `such` shows what they look like. */
export function listOf(such: string): (text: string) => string[] {
  return (text) => {
    const values = text.split(',').map((value) => value.trim());
    if (values.length <= listValuesMax && values.every((value) => value !== '' && value.length <= 256)) return values;
    throw new InvalidArgumentError(`Expected values separated by commas, such as ${such}.`);
  };
}

const listValuesMax = 1_000;

/**
 * Shown below the help of a command: a line to paste, in the form in which this program was called. Where the terminal is
 * narrower it goes on below, as shells read it.
 */
export function example(line: string): () => string {
  return () => {
    // npm's own lines would come into what a shell takes of the output.
    const taken = culvert.replace(/^npm run /, 'npm run -s ');
    const pasted = line.replace(/(\$\()?\bculvert /g, (_, inShell) => (inShell ? `$(${taken} ` : `${culvert} `));
    return `\nExample:\n  ${continued(pasted, helpWidth(process.stdout) - 2)}`;
  };
}

/** Broken by backslashes between words, never inside of quotes. */
function continued(line: string, width: number): string {
  const lines: string[] = [];
  let current = '';
  for (const word of line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []) {
    if (current === '') current = word;
    else if (`${current} ${word} \\`.length <= width) current += ` ${word}`;
    else {
      lines.push(`${current} \\`);
      current = `  ${word}`;
    }
  }
  return [...lines, current].join('\n  ');
}

import { writeFileSync } from 'node:fs';
import { initialConfigText } from '../../config/init.ts';
import { CommandFailed } from '../command-failed.ts';
import { print, printJson } from '../print.ts';

/** Writes a commented configuration; an existing file is never touched. */
export async function init(file: string, flags: { json?: boolean }): Promise<number> {
  try {
    writeFileSync(file, initialConfigText(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'EEXIST') throw new CommandFailed(`${file} exists and is left as it is. Name another file.`);
    throw new CommandFailed(`${file} cannot be written (${code}).`);
  }
  if (flags.json) printJson({ file });
  else print(`Wrote ${file}. It is valid as it stands: culvert start --config ${file}`);
  return 0;
}

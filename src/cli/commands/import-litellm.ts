import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { checkConfigText } from '../../config/check.ts';
import { formatProblem } from '../../config/problem.ts';
import { culvert } from '../../kernel/command-form.ts';
import { CommandFailed } from '../command-failed.ts';
import { type Imported, importLiteLlm } from '../import/import-litellm.ts';
import { importedText } from '../import/write-imported.ts';
import { note, print, printJson, writeOut } from '../print.ts';

export interface ImportFlags {
  output: string;
  json?: boolean;
}

/** Writes a culvert.yaml made of LiteLLM's; an existing file is never touched. */
export async function importLiteLlmFile(file: string, { output, json }: ImportFlags): Promise<number> {
  const result = importLiteLlm(readText(file));
  if (!result.ok) throw new CommandFailed(`${file}: ${result.message}`);
  const { imported } = result;
  const text = importedText(imported, basename(file));
  assertChecks(text, imported, file);
  if (output === '-' && !json) writeOut(text);
  else if (output !== '-') write(output, text);

  const { config, variables, notes } = imported;
  const counts = { providers: Object.keys(config.providers).length, models: Object.keys(config.models).length };
  const environment = [...variables.keys()].toSorted();
  const missing = environment.filter((name) => (process.env[name] ?? '') === '');
  if (json) {
    printJson({ file: output, ...counts, environment, notes, ...(output === '-' && { text }) });
    return 0;
  }
  for (const { line, path, message } of notes) note(`${file}:${line} ${path}: ${message}`);
  if (missing.length > 0) note(`These variables are not set here, and the start needs them: ${missing.join(', ')}`);
  if (output !== '-') {
    print(`Wrote ${output}: providers ${counts.providers}, models ${counts.models}, notes ${notes.length}.`);
    print(`Next: ${culvert} check ${output} --live`);
  }
  return 0;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read (${codeOf(error)}).`);
  }
}

function write(output: string, text: string): void {
  try {
    writeFileSync(output, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') {
      throw new CommandFailed(`${output} exists, so it stays as it is. Name another file with --output.`);
    }
    throw new CommandFailed(`${output} cannot be written (${code}).`);
  }
}

/** Uses stand-ins for variables of the environment: a file that the check refuses would help nobody. */
function assertChecks(text: string, { variables }: Imported, file: string): void {
  const env = Object.fromEntries([...variables].map(([name, kind]) => [name, standIns[kind]]));
  const checked = checkConfigText(text, 'culvert.yaml', env);
  if (checked.ok) return;
  throw new CommandFailed(
    `${file} could not be converted. Nothing was written:\n${checked.errors.map(formatProblem).join('\n')}`,
  );
}

const standIns = {
  secret: 'stand-in-for-a-secret',
  url: 'https://stand-in.example/v1',
  text: 'stand-in',
  arn: 'arn:aws:iam::000000000000:role/stand-in',
} as const;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

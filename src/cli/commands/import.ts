import { basename } from 'node:path';
import { checkConfigText } from '../../config/check.ts';
import { formatProblem } from '../../config/problem.ts';
import { culvert, pasted } from '../../kernel/command-form.ts';
import { hasText, isObject, objectIn } from '../../kernel/json.ts';
import { CommandFailed } from '../command-failed.ts';
import type { ForeignSource } from '../import/foreign-sources.ts';
import { readForeignYaml } from '../import/foreign-yaml.ts';
import { importLiteLlm } from '../import/import-litellm.ts';
import { importOpenRouter } from '../import/import-openrouter.ts';
import { importPortkey } from '../import/import-portkey.ts';
import type { Imported, ImportResult } from '../import/imported.ts';
import { readLiteLlmDatabase } from '../import/litellm-database.ts';
import { type Gateway, importedText, oneLine, placeOf } from '../import/write-imported.ts';
import { note, print, printJson, writeOut } from '../print.ts';
import { readText, writeNewFile } from '../whole-file.ts';

export interface ImportFlags {
  output: string;
  json?: boolean;
}

/** Writes a culvert.yaml made of LiteLLM's configuration, and of its database where one is named. */
export async function importFromLiteLlm(
  file: string | undefined,
  flags: ImportFlags & { database?: string | true },
): Promise<number> {
  if (file === undefined && flags.database === undefined) {
    throw new CommandFailed('Name the configuration of LiteLLM, its --database, or both.', 2);
  }
  const text = file === undefined ? '' : readText(file);
  const rows = flags.database === undefined ? null : await databaseRows(flags.database, text);
  return finish(importLiteLlm(text, rows), 'litellm', file ?? 'database', flags);
}

/** Writes a culvert.yaml made of configs of Portkey's and of the lists of its virtual keys. */
export const importFromPortkey = (files: readonly string[], flags: ImportFlags): number =>
  finish(importPortkey(sourcesOf(files)), 'portkey', namesOf(files), flags);

/** Writes a culvert.yaml made of what OpenRouter and its clients tell. */
export const importFromOpenRouter = (files: readonly string[], flags: ImportFlags): number =>
  finish(importOpenRouter(sourcesOf(files)), 'openrouter', namesOf(files), flags);

const namesOf = (files: readonly string[]) => files.map((file) => basename(file)).join(', ');

function sourcesOf(files: readonly string[]): ForeignSource[] {
  return files.map((file) => ({ name: basename(file), text: readText(file) }));
}

async function databaseRows(given: string | true, text: string) {
  const url = given === true ? (process.env.DATABASE_URL ?? '') : given;
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new CommandFailed('--database expects a postgres:// URL; without a value it takes DATABASE_URL.', 2);
  }
  try {
    return await readLiteLlmDatabase(url, saltKeyOf(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailed(`The database at ${new URL(url).host} cannot be read: ${why}`);
  }
}

/** Salt key, as LiteLLM finds it. */
function saltKeyOf(text: string): string | null {
  const source = readForeignYaml(text);
  const root = source.ok && isObject(source.file.value) ? source.file.value : {};
  const master = objectIn(root.general_settings).master_key;
  const named = typeof master === 'string' ? /^os\.environ\/(.+)$/.exec(master)?.[1] : undefined;
  const ofFile = named === undefined ? master : process.env[named];
  const found = [process.env.LITELLM_SALT_KEY, process.env.LITELLM_MASTER_KEY, ofFile];
  return found.find(hasText) ?? null;
}

/** Writes the file, which an existing one never makes room for, and says what is left to do. */
function finish(result: ImportResult, gateway: Gateway, from: string, { output, json }: ImportFlags): number {
  if (!result.ok) throw new CommandFailed(oneLine(`${from}: ${result.message}`));
  const { imported } = result;
  const text = importedText(imported, basename(from), gateway);
  assertChecks(text, imported, from);
  if (output === '-' && !json) writeOut(text);
  else if (output !== '-') writeNewFile(output, text, 'Name another file with --output.');

  const { config, variables, notes } = imported;
  const counts = (['providers', 'models', 'accounts', 'keys'] as const).map(
    (section) => [section, Object.keys(config[section] ?? {}).length] as const,
  );
  const environment = [...variables.keys()].toSorted();
  const missing = environment.filter((name) => (process.env[name] ?? '') === '');
  if (json) {
    printJson({ file: output, ...Object.fromEntries(counts), environment, notes, ...(output === '-' && { text }) });
    return 0;
  }
  for (const one of notes) note(oneLine(`${placeOf(one, from)} ${one.path}: ${one.message}`));
  if (missing.length > 0) note(`These variables are not set here, and the start needs them: ${missing.join(', ')}`);
  if (output !== '-') {
    const shown = counts.filter(([section, count]) => count > 0 || section === 'providers' || section === 'models');
    const counted = shown.map(([section, count]) => `${section} ${count}`);
    print(`Wrote ${output}: ${counted.join(', ')}, notes ${notes.length}.`);
    print(`Next: ${culvert} check ${pasted(output)} --live`);
  }
  return 0;
}

/** Uses substitutes for variables of the environment: a file that the check refuses would help nobody. */
function assertChecks(text: string, { variables }: Imported, from: string): void {
  const env = Object.fromEntries([...variables].map(([name, kind]) => [name, standIns[kind]]));
  const checked = checkConfigText(text, 'culvert.yaml', env);
  if (checked.ok) return;
  throw new CommandFailed(
    `${from} could not be converted. Nothing was written:\n${checked.errors.map(formatProblem).join('\n')}`,
  );
}

const standIns = {
  secret: 'stand-in-for-a-secret',
  url: 'https://stand-in.example/v1',
  text: 'stand-in',
  arn: 'arn:aws:iam::000000000000:role/stand-in',
} as const;

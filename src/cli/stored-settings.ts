import { isObject, parsedJson } from '../kernel/json.ts';
import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from './admin-client.ts';
import { calls, filled } from './admin-entries.ts';
import { CommandFailed } from './command-failed.ts';
import type { CliParts } from './parts.ts';
import { listForm, print, printJson } from './print.ts';
import type { Row } from './rows.ts';

/** A kind of entries with settings that the admin API stores. */
export interface StoredKind {
  /** Where the API lists them, such as `/guards`. */
  path: string;
  /** Begins messages, such as `Guard`. */
  title: string;
  /** An example of `--settings`. */
  example: string;
}

/** Creates an entry, or changes settings of one that is there, and says which it was. `given` come over `--settings`. */
export async function setStored(
  { path, title, example }: StoredKind,
  name: string,
  flags: AdminFlags & { settings?: string },
  parts: CliParts,
  given: Readonly<Record<string, unknown>>,
): Promise<number> {
  const body = { ...jsonIn(flags.settings, example), ...withoutUndefined(given) };
  const { entry, made } = await withAdmin(flags, parts, async (admin) => {
    const at = filled(`${path}/{name}`, [name]);
    if ((await entryOrNull(admin, at)) !== null)
      return { made: false, entry: await admin.request('PATCH', at, { body }) };
    return { made: true, entry: await admin.request('POST', path, { body: { ...body, name } }) };
  });
  if (listForm(flags) === 'json') printJson(entry);
  else print(`${title} '${name}' is ${made ? 'stored' : `changed. It has version ${(entry as Row).version} now`}.`);
  return 0;
}

/** `show NAME`: all settings of one, as in culvert.yaml. `what`: such as `a guard`. */
export function showsSettings(path: `/${string}`, what: string, example: string) {
  return calls({
    description: `show all settings of ${what}`,
    arguments: [['<name>', 'its name']],
    example,
    call: `GET ${path}/{name}`,
    as: 'exact',
    describe: async ({ settings, definition }) => (await import('yaml')).stringify(settings ?? definition).trimEnd(),
  });
}

/** `change NAME --settings JSON`, by its example: changes settings of a stored entry. `title`: such as `Provider`. */
export function changesSettings(title: string, example: string) {
  const [, path, , , , settingsExample = ''] = example.split(' ');
  return calls<Row, { settings?: string }>({
    description: 'change settings of a stored one, as in culvert.yaml',
    arguments: [['<name>', 'its name']],
    options: [['--settings <json>', 'the settings that change; null removes one', { needed: true }]],
    example,
    call: `PATCH /${path}/{name}`,
    body: ({ settings }) => jsonIn(settings, settingsExample.replaceAll("'", '')),
    describe: ({ version }, name) => `${title} '${name}' is changed. It has version ${version} now.`,
  });
}

/** `remove NAME` or `delete NAME`, by its example: removes a stored entry. `title`: such as `Guard`. */
export function removesStored(title: string, description: string, example: string) {
  const [, path, verb] = example.split(' ');
  return calls({
    description,
    arguments: [['<name>', 'its name']],
    example,
    call: `DELETE /${path}/{name}`,
    describe: (_entry, name) => `${title} '${name}' is ${verb}d.`,
  });
}

/** The entry at this path; null: there is none. */
export async function entryOrNull(admin: AdminClient, path: string): Promise<Row | null> {
  try {
    return (await admin.request('GET', path)) as Row;
  } catch (error) {
    if (error instanceof AdminRefused && error.status === 404) return null;
    throw error;
  }
}

function withoutUndefined(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export function jsonIn(text: string | undefined, example: string): object {
  if (text === undefined) return {};
  const read = parsedJson(text);
  if (isObject(read)) return read;
  throw new CommandFailed(`--settings: expected a JSON object, such as ${example}.`, 2);
}

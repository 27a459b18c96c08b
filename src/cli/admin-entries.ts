import type { AdminMethod } from '../admin/admin-api.ts';
import { objectIn } from '../kernel/json.ts';
import type { AdminClient, AdminFlags, AdminQuery } from './admin-client.ts';
import type { ArgumentEntry, CommandEntry, OptionEntry } from './command-table.ts';
import { withKeyId } from './commands/people/key-id.ts';
import { adminOptions } from './options.ts';
import type { CliParts } from './parts.ts';
import { listForm, note, print, printExact, printJson, printSecret } from './print.ts';
import { type Column, list, type Row } from './rows.ts';

/** Every command over the admin API takes these options last. Its key is never on a command line. */
export function overAdmin({ options = [], ...entry }: CommandEntry): CommandEntry {
  return { ...entry, options: [...options, ...adminOptions] };
}

interface ListEntry<Flags> {
  description: string;
  example: string;
  options?: readonly OptionEntry[];
  /** Path of the list below `/admin/v1`. */
  path: string;
  /** A `key` in it may be named in any way. */
  query?(flags: Flags): AdminQuery;
  columns: readonly Column[];
  /** Largest number of rows that it prints. */
  rowsMax: number | ((flags: Flags) => number);
  /** The sentence for an empty list. */
  empty: string;
  /** The sentence where it stops before the end. */
  more?(flags: Flags): string | undefined;
}

/** A command that prints a list of the admin API. */
export function lists<Flags = unknown>(entry: ListEntry<Flags>): CommandEntry {
  const { path, query, columns, rowsMax, empty, more, ...rest } = entry;
  return overAdmin({
    ...rest,
    work: () => (flags: AdminFlags & Flags, parts: CliParts) =>
      list(flags, parts, {
        path,
        query: async (admin) => withKeyId(admin, query?.(flags) ?? {}),
        rowsMax: typeof rowsMax === 'number' ? rowsMax : rowsMax(flags),
        columns,
        empty,
        more: more?.(flags),
      }),
  });
}

interface CallEntry<Reply, Flags> extends Pick<ListEntry<Flags>, 'description' | 'example' | 'options' | 'query'> {
  /** Each is a `{name}` of the path, from the first on. */
  arguments?: readonly ArgumentEntry[];
  /** The id that the first of them names. Default: as it is. */
  idOf?(admin: AdminClient, named: string): Promise<string>;
  /** Refuses before the call. */
  check?(admin: AdminClient, flags: Flags, ...names: string[]): Promise<void>;
  /** The method, and the path below `/admin/v1`. */
  call: `${AdminMethod} /${string}`;
  /** A GET shows what is set, and nothing is changed. `alone`: with the id alone; `without body`: where `body` gives none. */
  shows?: 'alone' | 'without body';
  /** Default: no body. `given`: the arguments; one that may come several times is a list. */
  body?(flags: Flags, ...given: string[]): unknown;
  /** The reply for people, a line each; programs get it as JSON. `id`: as `idOf` gives it. */
  describe(reply: Reply, id: string, flags: Flags, ...given: string[]): string | readonly string[] | Promise<string>;
  /**
   * `exact`: the lines are pasted or read by programs, so they stay as wide as they are. `secret`: its key is alone on
   * standard output. `note`: nothing is there, but on `--json`.
   */
  as?: 'exact' | 'secret' | 'note';
  /** Whether the command has succeeded. Default: it has. */
  ok?(reply: Reply): boolean;
}

/** A command that is one call of the admin API. */
export function calls<Reply = Row, Flags = unknown>(entry: CallEntry<Reply, Flags>): CommandEntry {
  const { call, shows, query, body, describe, as, idOf, check, ok = () => true, ...rest } = entry;
  const [method, place] = call.split(' ') as [AdminMethod, string];
  return overAdmin({
    ...rest,
    async work() {
      const { withAdmin } = await import('./admin-client.ts');
      return async (...given: unknown[]) => {
        const [first = '', ...others] = given.slice(0, -2) as string[];
        const [flags, parts] = given.slice(-2) as [AdminFlags & Flags, CliParts];
        return withAdmin(flags, parts, async (admin) => {
          await check?.(admin, flags, first, ...others);
          const id = idOf === undefined ? first : await idOf(admin, first);
          const isAlone = shows === 'alone' && others.flat().every((word) => word === undefined);
          const content = isAlone ? undefined : body?.(flags, first, ...others);
          const isShown = shows !== undefined && content === undefined;
          const sent = { query: await withKeyId(admin, query?.(flags) ?? {}), body: content };
          const path = filled(place, [id, ...others]);
          const reply = (await admin.request(isShown ? 'GET' : method, path, sent)) as Reply;
          noteWarnings(reply, flags);
          const describedAs = async () => [await describe(reply, id, flags, first, ...others)].flat();
          if (as === 'secret') await printSecret(flags, reply as Row, (await describedAs()).join('\n'), rotateAgain);
          else if (as === 'note' ? flags.json === true : listForm(flags) === 'json') printJson(reply);
          else for (const line of await describedAs()) printers[as ?? 'lines'](line);
          return ok(reply) ? 0 : 1;
        });
      };
    },
  });
}

/** Warnings in a reply go to standard error: the output is for programs too. */
export function noteWarnings(reply: unknown, { json }: AdminFlags): void {
  if (json === true) return;
  const { warnings } = objectIn(reply);
  if (Array.isArray(warnings)) for (const warning of warnings) note(`warning: ${warning}`);
}

const rotateAgain = async () => 'Nobody has the secret: rotate it once more.';

const printers = { lines: print, exact: printExact, note };

/** The path with the arguments in the places of its `{names}`. */
export function filled(path: string, names: readonly string[]): string {
  const left = [...names];
  return path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ''));
}

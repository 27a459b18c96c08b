import type { AuditEntry, Change, CredentialRow, EntryRow, Stored } from '../../books/auth/account-store.ts';
import { openDefinition, openEntries } from '../../books/auth/entry-secrets.ts';
import { fragmentKey, type LeftOut, type Merged, mergeStored, tableOf, tablePath } from '../../config/merge-stored.ts';
import { formatPath } from '../../config/problem.ts';
import { connectProviders } from '../../inference/models/connections.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { Records } from '../directory.ts';
import { refuse, refuseWith } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { untilWritten } from './until-written.ts';

export type EntryKind = EntryRow['kind'];

/** Providers, models, MCP servers, agents, prompts, guards and rules in the store. */
export type EntryRows = Pick<Stored, 'entries' | 'credentials'>;

/** Largest number of stored entries. Each change checks all of them, which takes some 70 ms for this many. */
const entriesMax = 1_000;
/** Result of a change of one stored row. */
export interface Planned {
  changes: readonly Change[];
  audit: Pick<AuditEntry, 'action' | 'subject' | 'before' | 'after'>;
  /** The rows after the change, to be checked before anything is written; null: nothing can go wrong. */
  after: EntryRows | null;
}

/** How providers and models are changed that are kept in the store. */
export interface EntryRecords {
  rows(): Promise<EntryRows>;
  /** Refuses a name that is taken, with the entry that has it. */
  create(kind: EntryKind, name: string, plan: (rows: EntryRows) => Planned, actor: string): Promise<void>;
  /**
   * Changes or removes a row of which the caller knows this version; undefined: whichever it has. One who knew an
   * earlier version gets 409 with `current`.
   */
  change(of: RowChange, plan: (row: EntryRow, rows: EntryRows) => Planned): Promise<void>;
}

export interface RowChange {
  kind: EntryKind;
  name: string;
  version: number | undefined;
  actor: string;
  /** The row as lists show it, for a caller who learns that it has changed. */
  show(): Promise<unknown>;
}

export function createEntryRecords(parts: AdminParts, records: Records): EntryRecords {
  const rows = async (): Promise<EntryRows> => (await records.current(null)).stored;

  async function write({ changes, audit }: Planned, actor: string) {
    const done = await records.apply(changes, { actor, ...audit });
    if (done === 'done') await parts.setup.applied();
    return done;
  }

  return {
    rows,
    async create(kind, name, plan, actor) {
      const before = await rows();
      if (before.entries.length >= entriesMax) {
        refuse({
          kind: 'conflict',
          message: `There are ${entriesMax} providers, models, MCP servers, prompts, guards and rules already, as many as there may be. Remove some first.`,
        });
      }
      if (rowIn(before, kind, name) !== null) refuse(taken(kind, name));
      const planned = plan(before);
      check(parts, before, planned.after ?? before, { kind, name });
      if ((await write(planned, actor)) !== 'done') refuse(taken(kind, name));
    },
    async change({ kind, name, version, actor, show }, plan) {
      await untilWritten(`${noun[kind]} '${name}'`, async () => {
        const before = await rows();
        const row = rowIn(before, kind, name) ?? refuse(notStored(parts, kind, name));
        if (version !== undefined && version !== row.version)
          return refuseWith(changed(row, version), { current: await show() });
        const planned = plan(row, before);
        if (planned.after !== null) check(parts, before, planned.after, { kind, name });
        return (await write(planned, actor)) === 'done' ? true : null;
      });
    },
  };
}

export function rowIn({ entries }: Pick<EntryRows, 'entries'>, kind: EntryKind, name: string): EntryRow | null {
  return entries.find((row) => row.kind === kind && row.name === name) ?? null;
}

export function credentialsIn({ credentials }: Pick<EntryRows, 'credentials'>, provider: string): CredentialRow[] {
  return credentials.filter((row) => row.provider === provider);
}

/** The rows with this one in the place of the one with its name, or at the end. */
export function withRow({ entries, credentials }: EntryRows, row: EntryRow): EntryRows {
  return { credentials, entries: [...entries.filter((other) => fragmentKey(other) !== fragmentKey(row)), row] };
}

/** The written content, for callers that change it. Refuses when this server cannot open it. */
export function writtenOf(parts: AdminParts, row: EntryRow): Record<string, unknown> {
  const definition = openDefinition(parts.setup.sealer(), row);
  if (definition !== null) return definition;
  const message = `The ${noun[row.kind]} '${row.name}' was sealed with another storage.secret than this server has. Add that secret to storage.earlier_secrets, or remove the ${noun[row.kind]} and create it again.`;
  return refuse({ kind: 'conflict', message });
}

export function merge({ setup }: AdminParts, rows: EntryRows): Merged {
  return mergeStored(setup.file(), openEntries(setup.sealer(), rows).fragments, setup.env);
}

/** Refuses what would not work, by the field that is to blame, and what would take from others what they work with. */
function check(parts: AdminParts, before: EntryRows, after: EntryRows, focus: Pick<EntryRow, 'kind' | 'name'>): void {
  const row = rowIn(after, focus.kind, focus.name);
  if (row !== null && [row.name, ...keysIn(row.definition)].some((key) => key.includes('${'))) {
    refuse(
      invalid(nameField[row.kind], `${nameField[row.kind]}: a name must not contain a reference such as \${NAME}`),
    );
  }
  const { left, config } = merge(parts, after);
  const leftOut = left.get(fragmentKey(focus));
  if (leftOut !== undefined) refuseUnfit(parts, focus, leftOut);
  const others = [...left.keys()].filter((key) => key !== fragmentKey(focus));
  const earlier = others.length === 0 ? left : merge(parts, before).left;
  const broken = [...left].filter(([key]) => key !== fragmentKey(focus) && !earlier.has(key));
  if (broken.length > 0) {
    const named = broken.slice(0, 5).map(([key, why]) => `${key.slice(key.indexOf(' ') + 1)} (${whyLeft(why)})`);
    const more = broken.length > named.length ? ` and ${broken.length - named.length} more` : '';
    const message = `These would stop working without it: ${named.join(', ')}${more}. Change them first.`;
    refuse({ kind: 'conflict', message });
  }
  const provider = focus.kind === 'provider' ? config.providers[focus.name] : undefined;
  const [problem] = provider === undefined ? [] : connectProviders({ [focus.name]: provider }, null).problems;
  if (problem !== undefined) refuse(uncallable(problem));
}

/** Why a provider cannot be called, at the field that is to blame. */
export function uncallable(problem: string): Failure {
  const field = /\bAPI key\b/.test(problem) ? 'api_key' : (/\bbase_url\b/.exec(problem)?.[0] ?? null);
  return invalid(field, problem);
}

function refuseUnfit(parts: AdminParts, { kind, name }: Pick<EntryRow, 'kind' | 'name'>, why: LeftOut): never {
  if (why.kind === 'shadowed') return refuse(declared(parts, kind, name));
  const param = formatPath(why.path);
  return refuse(
    invalid(param === '' ? nameField[kind] : param, `${param === '' ? nameField[kind] : param}: ${why.message}`),
  );
}

/** A configuration file could not say these. */
function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...keysIn(child)]);
}

export const nameField = {
  provider: 'name',
  model: 'id',
  mcp: 'name',
  prompt: 'name',
  guard: 'name',
  route: 'name',
  agent: 'name',
} as const;

const noun = {
  provider: 'provider',
  model: 'model',
  mcp: 'MCP server',
  prompt: 'prompt',
  guard: 'guard',
  route: 'rule',
  agent: 'agent',
} as const;

function whyLeft(why: LeftOut): string {
  return why.kind === 'shadowed' ? 'the file has an entry of this name' : `${formatPath(why.path)}: ${why.message}`;
}

/** Entries of the file or the environment are changed there. */
export function declared({ setup, configFile }: AdminParts, kind: EntryKind, name: string): Failure {
  const file = setup.file();
  const inFile = Object.hasOwn(tableOf(file, kind), name);
  const key = formatPath([...tablePath[kind], name]);
  const message = inFile
    ? `${key} is set in ${configFile ?? 'the configuration'}. Change it there.`
    : `The provider '${name}' comes from a key in the environment. Take another name, or unset that variable.`;
  return { kind: 'conflict', message };
}

/** `names`: those that there are, of which a near one is named. */
export function noEntry(kind: EntryKind, name: string, names: readonly string[] = []): Failure {
  const message = `There is no ${noun[kind]} '${name.slice(0, 256)}'${didYouMean(name, names)}.`;
  return { kind: 'not-found', message };
}

/** The refusal for a name that has no stored entry: one of the file, a built-in, or unknown. */
export function notStored(parts: AdminParts, kind: EntryKind, name: string): Failure {
  const file = parts.setup.file();
  if (Object.hasOwn(tableOf(file, kind), name)) return declared(parts, kind, name);
  const { providers, models } = parts.snapshots.current;
  const there =
    kind === 'provider' ? providers.has(name) : kind === 'model' && models.all().some(({ id }) => id === name);
  const shown = name.slice(0, 256);
  if (!there) return noEntry(kind, name);
  const message =
    kind === 'provider'
      ? `The provider '${shown}' was found automatically and is not stored, so there is nothing to change. Create one with another name.`
      : `The model '${shown}' comes from the list of its provider and is not stored. Create a model with that id to change what it does.`;
  return { kind: 'conflict', message };
}

function taken(kind: EntryKind, name: string): Failure {
  return {
    kind: 'conflict',
    message: `${/^[aA]|^MCP/.test(noun[kind]) ? 'An' : 'A'} ${noun[kind]} '${name}' exists already.`,
  };
}

function changed({ kind, name, version, updatedBy, updatedMs }: EntryRow, known: number): Failure {
  const at = new Date(updatedMs).toISOString();
  const message = `${updatedBy} changed the ${noun[kind]} '${name}' in the meantime, at ${at}. It has version ${version} now; yours was ${known}. Read \`current\` and change that.`;
  return { kind: 'conflict', message };
}

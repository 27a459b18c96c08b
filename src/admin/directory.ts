import type { AccountRow, AuditEntry, Change, KeyRow, Stored } from '../books/auth/account-store.ts';
import { type ChangedRows, changedRows } from '../books/auth/changed-rows.ts';
import { declaredKeys } from '../books/auth/declared-keys.ts';
import { blocksIn, type Declared, declaredKeyId, isBlock, keysInForce } from '../books/auth/key-directory.ts';
import { accountsInForce } from '../config/declared.ts';
import { filePlans, isBuiltInPlan } from '../config/schema/schema-plans.ts';
import type { Config } from '../config/schema.ts';
import { budgetedModels } from '../inference/models/unpriced.ts';
import { FailureError } from '../kernel/failure.ts';
import type { AccountScope } from './account-scope.ts';
import { refuse } from './operation.ts';
import { inOrderOf, placeInOrder } from './page.ts';
import type { AdminParts } from './parts.ts';

export type Origin = 'configuration' | 'admin api';

/** Everybody whom this server knows, wherever they were written. Of two with one name the file's counts. */
export interface Directory {
  config: Config;
  declared: Declared;
  stored: Stored;
  /** Ordered by id. */
  accounts: readonly KnownAccount[];
  /** In the order of `keyText`. */
  keys: readonly KnownKey[];
  account(id: string): KnownAccount | null;
  key(id: string): KnownKey | null;
  /** Ordered by name. */
  plans: readonly KnownPlan[];
  plan(name: string): KnownPlan | null;
  accountsByPlan: ReadonlyMap<string, number>;
}

export interface KnownAccount extends Omit<AccountRow, 'createdMs'> {
  from: Origin;
  /** Null for an account of the file. */
  row: AccountRow | null;
}

export interface KnownKey extends Omit<KeyRow, 'prefix' | 'secrets' | 'kind' | 'createdMs'> {
  from: Origin;
  /** Null for a key of the file. */
  row: KeyRow | null;
}

export interface KnownPlan {
  name: string;
  /** `built-in`: the `default` that exists without being written. */
  from: Origin | 'built-in';
  /** Definition as written, with its secrets. */
  definition: Readonly<Record<string, unknown>>;
  /** Null for a plan of the file. */
  updatedMs: number | null;
}

export function keyText({ account, name, id }: KnownKey): string {
  return `${account}/${name}/${id}`;
}

/** Keys of an account that are not revoked, without a look at the others. */
export function livingKeysOf({ keys }: Directory, account: string): KnownKey[] {
  const first = placeInOrder(keys, `${account}/`, keyText);
  let end = first;
  while (keys[end]?.account === account) end += 1;
  return keys.slice(first, end).filter(({ revokedMs }) => revokedMs === null);
}

/** Globs of the models whose requests budgets in USD count. */
export function budgetedBy(directory: Directory): ReadonlySet<string> {
  const plans = directory.plans.map(({ definition }) => definition);
  const keys = directory.keys.filter(({ revokedMs }) => revokedMs === null);
  return budgetedModels({ plans, accounts: directory.accounts, keys, planOf: (id) => planOf(directory, id) });
}

export function planOf({ account, plan }: Directory, id: string): KnownPlan['definition'] | undefined {
  return plan(account(id)?.plan ?? '')?.definition;
}

/** How operations read and change the store. Store errors become 503 and go to `onStoreError`. */
export type Records = ReturnType<typeof createRecords>;

export function createRecords(parts: AdminParts) {
  let seen: { version: number; directory: Directory } | null = null;

  async function asking<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FailureError) throw error;
      parts.onStoreError(error);
      return refuse({
        kind: 'overloaded',
        message: 'Accounts and keys cannot be read or changed right now, because their store does not answer.',
      });
    }
  }

  async function changing<T>(change: () => Promise<T>): Promise<T> {
    const result = await asking(change);
    // It is written; a look that fails is repeated within a second by what watches the store.
    await parts.refresh().catch(parts.onStoreError);
    return result;
  }

  return {
    /** The directory as of now, limited to these accounts. Reads the store when its version has changed. */
    current: (scope: AccountScope): Promise<Directory> =>
      asking(async () => {
        const { config } = parts.snapshots.current;
        const version = await parts.store.version();
        if (seen === null || seen.version !== version || seen.directory.config !== config) {
          const stored = await parts.store.load();
          seen = {
            version,
            directory: (seen && directorySince(seen.directory, config, stored)) ?? directoryOf(config, stored),
          };
        }
        return scope === null ? seen.directory : within(seen.directory, scope);
      }),
    /** All or nothing, with its audit row; counts in this process when it resolves. */
    apply: (changes: readonly Change[], audit: Omit<AuditEntry, 'atMs'>): Promise<'done' | 'exists' | 'absent'> =>
      changing(() => parts.store.apply(changes, { atMs: parts.clock.wallMs(), ...audit })),
    /** An audit row of what was done elsewhere, or given out. A store that fails does not undo that: it goes to `onStoreError`. */
    async note(audit: Omit<AuditEntry, 'atMs' | 'before'> & { before?: unknown }): Promise<void> {
      await parts.store.apply([], { atMs: parts.clock.wallMs(), before: null, ...audit }).catch(parts.onStoreError);
    },
    /** For functions of auth that change the store themselves. */
    changing,
    /** For other reads. */
    asking,
  };
}

function directoryOf(config: Config, stored: Stored): Directory {
  const declared = declaredKeys(config, null);
  const accounts = new Map<string, KnownAccount>();
  for (const row of stored.accounts) accounts.set(row.id, storedAccount(row));
  for (const account of fileAccounts(config, declared, stored)) accounts.set(account.id, account);
  const keys = new Map<string, KnownKey>();
  for (const row of stored.keys) if (isUsers(row)) keys.set(row.id, storedKey(row));
  for (const key of fileKeys(declared, stored)) keys.set(key.id, key);
  const order = {
    accounts: inOrderOf([...accounts.values()], accountText),
    keys: inOrderOf([...keys.values()], keyText),
  };
  return directoryWith(config, declared, stored, { accounts, keys }, order);
}

interface KnownMaps {
  accounts: Map<string, KnownAccount>;
  keys: Map<string, KnownKey>;
}

const mapsOf = new WeakMap<Directory, KnownMaps>();

/**
 * The directory of `stored` where few accounts and keys are others than in `before`; null: it must be made anew. The maps
 * of `before` are changed, too: with 100,000 keys, others would take as long as the whole directory.
 */
function directorySince(before: Directory, config: Config, stored: Stored): Directory | null {
  const maps = mapsOf.get(before);
  const accountRows = changedRows(before.stored.accounts, stored.accounts);
  const keyRows = changedRows(before.stored.keys, stored.keys);
  if (maps === undefined || before.config !== config || accountRows === null || keyRows === null) return null;
  const { declared } = before;
  const inFile = (of: Stored) => ({ accounts: fileAccounts(config, declared, of), keys: fileKeys(declared, of) });
  const [old, now] = [inFile(before.stored), inFile(stored)];
  const accounts = patched(
    maps.accounts,
    before.accounts,
    accountRows,
    storedAccount,
    [old.accounts, now.accounts],
    accountText,
  );
  const users = { removed: keyRows.removed.filter(isUsers), present: keyRows.present.filter(isUsers) };
  const keys = patched(maps.keys, before.keys, users, storedKey, [old.keys, now.keys], keyText);
  return directoryWith(config, declared, stored, maps, { accounts, keys });
}

const isUsers = (key: KeyRow) => key.kind === 'user' && !isBlock(key);

/** Changes the map, and answers its values in their order. */
function patched<Row extends { id: string }, Known extends { id: string; from: Origin }>(
  map: Map<string, Known>,
  inOrder: readonly Known[],
  { removed, present }: ChangedRows<Row>,
  knownOf: (row: Row) => Known,
  [before, now]: readonly [readonly Known[], readonly Known[]],
  textOf: (known: Known) => string,
): readonly Known[] {
  const next = inOrder.slice();
  const ids = new Set([...removed, ...present, ...before, ...now].map(({ id }) => id));
  for (const id of ids) {
    const known = map.get(id);
    if (known !== undefined) next.splice(placeInOrder(next, textOf(known), textOf), 1);
  }
  for (const { id } of before) map.delete(id);
  for (const { id } of removed) map.delete(id);
  for (const row of present) map.set(row.id, knownOf(row));
  for (const known of now) map.set(known.id, known);
  for (const id of ids) {
    const known = map.get(id);
    if (known !== undefined) next.splice(placeInOrder(next, textOf(known), textOf), 0, known);
  }
  return next;
}

function directoryWith(
  config: Config,
  declared: Declared,
  stored: Stored,
  maps: KnownMaps,
  order: Pick<Directory, 'accounts' | 'keys'>,
): Directory {
  const plans = new Map<string, KnownPlan>();
  for (const plan of stored.plans) plans.set(plan.name, { ...plan, from: 'admin api' });
  for (const [name, definition] of Object.entries(filePlans(config.plans, stored.plans.length))) {
    const from = isBuiltInPlan(definition) ? 'built-in' : 'configuration';
    plans.set(name, { name, definition, from, updatedMs: null });
  }
  const directory: Directory = {
    config,
    declared,
    stored,
    ...order,
    accountsByPlan: countedByPlan(order.accounts),
    account: (id) => maps.accounts.get(id) ?? null,
    key: (id) => maps.keys.get(id) ?? null,
    plans: inOrderOf([...plans.values()], ({ name }) => name),
    plan: (name) => plans.get(name) ?? null,
  };
  mapsOf.set(directory, maps);
  return directory;
}

const accountText = ({ id }: KnownAccount) => id;

const storedAccount = (row: AccountRow): KnownAccount => ({ ...row, from: 'admin api', row });

const storedKey = (row: KeyRow): KnownKey => ({ ...row, from: 'admin api', row });

function fileAccounts(config: Config, declared: Declared, stored: Stored): KnownAccount[] {
  return accountsInForce(declared.accounts, stored.accounts).map(
    ({ id, plan, status, guards, extraBudget = null, budgets = null, data = null }) => {
      const name = Object.hasOwn(config.accounts, id) ? config.accounts[id]?.name : undefined;
      const settings = { plan, status, guards, extraBudget, budgets, data };
      return { id, name: name ?? id, ...settings, from: 'configuration', row: null };
    },
  );
}

function fileKeys(declared: Declared, stored: Stored): KnownKey[] {
  const blocks = blocksIn(stored);
  return keysInForce(declared, stored).map((key) => {
    const tenant = `${key.account}/${key.name}`;
    const revokedMs = blocks.get(key.hash)?.revokedMs ?? null;
    return { ...key, id: declaredKeyId(key), tenant, revokedMs, from: 'configuration', row: null };
  });
}

/** Hides what other accounts have. All accounts share the plans. */
function within(directory: Directory, scope: readonly string[]): Directory {
  const accounts = directory.accounts.filter(({ id }) => scope.includes(id));
  const keys = directory.keys.filter(({ account }) => scope.includes(account));
  return {
    ...directory,
    accounts,
    keys,
    accountsByPlan: countedByPlan(accounts),
    account: (id) => (scope.includes(id) ? directory.account(id) : null),
    key: (id) => keys.find((key) => key.id === id) ?? null,
  };
}

function countedByPlan(accounts: Iterable<KnownAccount>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { plan } of accounts) counts.set(plan, (counts.get(plan) ?? 0) + 1);
  return counts;
}

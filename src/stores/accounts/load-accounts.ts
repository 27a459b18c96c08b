import type { AccountRow, KeyRow, Stored } from '../../books/auth/account-store.ts';
import type { RowShape } from '../row-shape.ts';
import { read, type SqlTables, type Work } from '../sql-tables.ts';
import * as accountRows from './account-rows.ts';

/** Contents as of a version of the store. */
interface Loaded {
  version: number;
  stored: Stored;
}

/** More rows than this are not looked up one by one. */
const changesMax = 2_000;
const readMax = changesMax + 1;

/**
 * Reads the contents as of now. Rows that are as they were at the last call are the same objects, and so are lists in which
 * no row changed: with 100,000 keys, a new one costs some milliseconds instead of seconds.
 */
export function createLoad(tables: SqlTables & { keys: Pick<SqlTables, 'transaction'> }): () => Promise<Stored> {
  let last: Loaded | null = null;
  return async () => {
    // One snapshot for all reads: a rotation between two of them would leave a key without a secret.
    const now = await tables.keys.transaction('snapshot', () => loadSince(tables, last));
    if (last === null || now.version >= last.version) last = now;
    return now.stored;
  };
}

function* loadSince(tables: SqlTables, before: Loaded | null): Work<Loaded> {
  const { prefix } = tables;
  const [row] = yield* read(`SELECT version FROM ${prefix}store_version WHERE one = 1`, []);
  const version = Number(row?.version ?? 0);
  if (before?.version === version) return before;
  // A writer that does not raise the version may have changed rows after `before` was read.
  const noted = `SELECT kind, id FROM ${prefix}row_change WHERE version >= $1 LIMIT ${readMax}`;
  const isLater = before !== null && version > before.version;
  const changes = isLater ? yield* read(noted, [before.version]) : [];
  if (!isLater || changes.length > changesMax) return { version, stored: yield* storedIn(tables) };
  const changed = Map.groupBy(changes, ({ kind }) => String(kind));
  const idsOf = (kind: string) => new Set(changed.get(kind)?.map(({ id }) => String(id)));
  const { stored } = before;
  const rest = yield* fewRowsOf(tables, stored, (table) => changed.has(table));
  const [accountIds, keyIds] = [idsOf('account'), idsOf('key')];
  const accounts = patched(stored.accounts, accountIds, yield* accountsOf(tables, accountIds), byId);
  const keys = patched(stored.keys, keyIds, yield* keysOf(tables, keyIds), byAge);
  return { version, stored: { ...rest, accounts, keys } };
}

function* storedIn(tables: SqlTables): Work<Stored> {
  const accounts = yield* accountsOf(tables, null);
  const keys = yield* keysOf(tables, null);
  return { ...(yield* fewRowsOf(tables, null, () => true)), accounts: accounts.sort(byId), keys: keys.sort(byAge) };
}

/** Accounts with one of `ids`; null: all. */
function* accountsOf(tables: SqlTables, ids: ReadonlySet<string> | null): Work<AccountRow[]> {
  return yield* rowsOf(tables, 'account', ids, (rows: accountRows.AccountColumns[]) => rows.map(accountRows.accountOf));
}

function* keysOf(tables: SqlTables, ids: ReadonlySet<string> | null): Work<KeyRow[]> {
  const { prefix, oneOf } = tables;
  const condition = ids === null ? 'key_id >= $1 AND key_id <= $2' : oneOf('key_id', '$1');
  // The one that lasts first.
  const secretsOf = `SELECT * FROM ${prefix}api_key_secret WHERE ${condition} ORDER BY key_id, until_ms DESC NULLS FIRST, hash`;
  return yield* rowsOf(tables, 'api_key', ids, function* (rows: accountRows.KeyColumns[]) {
    const [first, last] = [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''];
    const found: unknown[] = yield* read(secretsOf, ids === null ? [first, last] : [[...ids]]);
    const secrets = accountRows.secretsByKey(found as accountRows.SecretColumns[]);
    return rows.map((row) => accountRows.keyOf(row, secrets.get(row.id) ?? []));
  });
}

/** Rows of the database that are in memory at a time, besides what is made of them. */
const rowsAtOnce = 10_000;

/** Reads the rows with one of `ids` and gives them to `made`; null: all, page by page. */
function* rowsOf<Columns extends { id: string }, Row>(
  { prefix, oneOf }: SqlTables,
  table: string,
  ids: ReadonlySet<string> | null,
  made: (rows: Columns[]) => Row[] | Work<Row[]>,
): Work<Row[]> {
  if (ids?.size === 0) return [];
  const condition = ids === null ? 'id > $1 ORDER BY id LIMIT $2' : oneOf('id', '$1');
  const text = `SELECT * FROM ${prefix}${table} WHERE ${condition}`;
  const all: Row[] = [];
  for (let last = ''; ; ) {
    const found: unknown[] = yield* read(text, ids === null ? [last, rowsAtOnce] : [[...ids]]);
    const rows = found as Columns[];
    const some = made(rows);
    for (const row of Array.isArray(some) ? some : yield* some) all.push(row);
    if (ids !== null || rows.length < rowsAtOnce) return all;
    last = rows.at(-1)?.id ?? last;
  }
}

type FewRows = Omit<Stored, 'accounts' | 'keys'>;

/** Tables of few rows: its name, the order of its list, and its rows. */
const tablesOf: {
  [List in keyof FewRows]: readonly [string, (byBytes: string) => string, RowShape<FewRows[List][number]>];
} = {
  plans: ['plan', () => 'name', accountRows.planShape],
  entries: ['kept', (by) => `kind ${by}, name ${by}`, accountRows.entryShape],
  credentials: ['credential', (by) => `provider ${by}, created_ms, id ${by}`, accountRows.credentialShape],
  operators: ['operator', (by) => `name ${by}`, accountRows.operatorShape],
  invitations: ['invitation', (by) => `created_ms, id ${by}`, accountRows.invitationShape],
  bodyRules: ['body_rule', (by) => `created_ms, id ${by}`, accountRows.bodyRuleShape],
};

/** Lists of the tables that have `changed`; the others as they are in `before`. */
function* fewRowsOf(
  { prefix, byBytes }: SqlTables,
  before: FewRows | null,
  changed: (table: string) => boolean,
): Work<FewRows> {
  const lists: Record<string, readonly unknown[]> = {};
  for (const [list, [table, order, shape]] of Object.entries(tablesOf)) {
    if (!changed(table)) continue;
    const rows = yield* read(`SELECT * FROM ${prefix}${table} ORDER BY ${order(byBytes)}`, []);
    lists[list] = rows.map((row) => shape.read(row));
  }
  return { ...before, ...lists } as FewRows;
}

const compared = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const byId = (a: AccountRow, b: AccountRow) => compared(a.id, b.id);
const byAge = (a: KeyRow, b: KeyRow) => a.createdMs - b.createdMs || compared(a.id, b.id);

/** The rows in their order, with `present` in the place of those of `ids`. */
function patched<Row extends { id: string }>(
  rows: readonly Row[],
  ids: ReadonlySet<string>,
  present: readonly Row[],
  order: (a: Row, b: Row) => number,
): readonly Row[] {
  if (ids.size === 0) return rows;
  const removed = new Set(ids);
  for (const { id } of present) removed.delete(id);
  const next = removed.size === 0 ? rows.slice() : rows.filter(({ id }) => !removed.has(id));
  for (const row of present) {
    let low = 0;
    for (let high = next.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (order(next[middle] as Row, row) < 0) low = middle + 1;
      else high = middle;
    }
    next.splice(low, next[low]?.id === row.id ? 1 : 0, row);
  }
  return next;
}

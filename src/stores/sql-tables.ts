/** SQL with `$1` and so on. With a name, each connection prepares it once; a driver may prepare the others too. */
export type Sql = string | { name: string; text: string };

export type Row = Record<string, unknown>;

/**
 * The seam between a store, which is one text for all databases, and a driver: how statements run, and the few words of
 * SQL that databases write differently. A list among the values is one parameter, for `oneOf`.
 */
export interface SqlTables extends SqlWords, ShortWords {
  rows(sql: Sql, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs all in one transaction and resolves to how many rows each changed. A statement that is `needed` and changes
   * nothing leaves out those behind it.
   */
  write(steps: readonly Step[]): Promise<number[]>;
  /**
   * One transaction whose statements depend on what earlier ones found. `work` waits for nothing but `read` and `change`:
   * an embedded database runs it within one turn of the loop. Rolled back where it throws; see also `Conflict`.
   */
  transaction<T>(kind: TransactionKind, work: () => Work<T>): Promise<T>;
}

/** Short forms over `rows` and `write`, for what stores write most. */
interface ShortWords {
  /** The first row, as `made` of it; null: there is none. */
  first<T>(sql: Sql, values: readonly unknown[], made: (row: Row) => T): Promise<T | null>;
  /** Runs one statement and resolves to how many rows it changed. */
  run(sql: Sql, values: readonly unknown[]): Promise<number>;
}

export function shortWords({ rows, write }: Pick<SqlTables, 'rows' | 'write'>): ShortWords {
  return {
    async first(sql, values, made) {
      const [row] = await rows(sql, values);
      return row === undefined ? null : made(row);
    },
    run: async (sql, values) => (await write([{ sql, values }]))[0] ?? 0,
  };
}

/** `snapshot`: reads of one instant. `write`: changes. `durable`: changes that survive a power cut wherever they are. */
export type TransactionKind = 'snapshot' | 'write' | 'durable';

/** Fragments of SQL that databases write differently. */
export interface SqlWords {
  /** Before the name of each table: '' or `culvert.`. */
  prefix: '' | 'culvert.';
  /** At the end of a SELECT whose rows nobody else may change until the transaction ends. */
  forUpdate: string;
  /** At the end of a SELECT that passes over rows which others change, and keeps its own from them. */
  skipLocked: string;
  /** After a column of text in ORDER BY: by its bytes, whatever the database's language. */
  byBytes: string;
  /** Condition: `column` is one of the list at `place`, such as `$2`. */
  oneOf(column: string, place: string): string;
  /** Until the transaction ends, others that lock the same name of the same `kind` (a number of ours) wait. */
  lock(kind: number, name: string): Work<void>;
}

/** Tables of one store alone: it closes them. */
export interface ClosableTables extends SqlTables {
  close(): Promise<void>;
}

/** Tables whose rows name the boot that made them. */
export interface BootTables extends ClosableTables {
  /** SQL: whether the boot in this column is over. */
  bootIsOver(column: string): string;
}

export interface Step {
  sql: Sql;
  values: readonly unknown[];
  needed?: boolean;
}

/** Statements of a transaction, each yielded to the driver, which answers it. */
export type Work<T> = Generator<YieldedStatement, T, Answer>;

export interface YieldedStatement {
  sql: Sql;
  values: readonly unknown[];
  needs: 'rows' | 'changes';
}

export interface Answer {
  rows: Row[];
  /** Rows inserted, updated or deleted; of statements that want them. */
  changes: number;
}

export function* read(sql: Sql, values: readonly unknown[]): Work<Row[]> {
  return (yield { sql, values, needs: 'rows' }).rows;
}

/** How many rows it changed. */
export function* change(sql: Sql, values: readonly unknown[]): Work<number> {
  return (yield { sql, values, needs: 'changes' }).changes;
}

/** The same as `SqlTables.write`, within a transaction. */
export function* changeAll(steps: readonly Step[]): Work<number[]> {
  const changes: number[] = [];
  for (const { sql, values, needed } of steps) {
    changes.push(yield* change(sql, values));
    if (needed === true && changes.at(-1) === 0) break;
  }
  return changes;
}

/**
 * A row that cannot be: its key is taken (`exists`), or the row to which it refers or which it changes is not there
 * (`absent`). Drivers throw it for constraints of the schema; `cause` is the database's error.
 */
export class Conflict extends Error {
  readonly kind: 'exists' | 'absent';

  constructor(kind: Conflict['kind'], cause?: unknown) {
    super(cause instanceof Error ? cause.message : kind, { cause });
    this.kind = kind;
  }
}

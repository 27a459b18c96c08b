/** What both databases do alike: statements with `$1` and so on, of which several are one transaction. */
export interface SqlTables {
  /** Before the name of each table: '' or `culvert.`. */
  prefix: string;
  rows(sql: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /**
   * Runs all in one transaction and resolves to how many rows each changed. A statement that is `needed` and changes
   * nothing leaves out those behind it.
   */
  write(steps: readonly Step[]): Promise<number[]>;
}

/** Of one store alone: it closes them. */
export interface OwnTables extends SqlTables {
  close(): Promise<void>;
}

export interface Step {
  sql: string;
  values: readonly unknown[];
  needed?: boolean;
}

/** A statement as it was when its month was closed: it never changes again. */
export interface StoredStatement {
  /** `2026-10`. */
  month: string;
  timeZone: string;
  closedMs: number;
  /** Name of the operator. */
  closedBy: string;
  /** JSON, as the admin API made it. */
  body: string;
}

export interface StatementBook {
  /** Null: that month is not closed in that time zone. */
  stored(month: string, timeZone: string): Promise<StoredStatement | null>;
  /** The newest months first; at most 1,000. */
  closed(): Promise<readonly Omit<StoredStatement, 'body'>[]>;
  /** Resolves to false, with nothing written, where it is closed already. */
  keep(statement: StoredStatement): Promise<boolean>;
}

/** One row of a backup: the same tables and columns in every driver, values as JSON has them. */
export interface BackupRow {
  table: string;
  row: Readonly<Record<string, unknown>>;
}

/** Its message is a sentence for the operator. */
export class RestoreRefused extends Error {}

/** One row of a backup: the same tables and columns in every driver, values as JSON has them, bytes as `\x` and hex. */
export interface BackupRow {
  table: string;
  row: Readonly<Record<string, unknown>>;
}

/** Part of a file of the data folder, which a backup holds unchanged. Parts of one file follow each other. */
export interface FilePiece {
  /** Its path within the data folder. */
  file: string;
  /** Offset of the piece. */
  at: number;
  bytes: Uint8Array;
}

export type BackupItem = BackupRow | FilePiece;

/** Its message is a sentence for the operator. */
export class RestoreRefused extends Error {}

/** A row as it was found, its bytes in PostgreSQL's text form, which it reads without a cast. */
export function portable(found: BackupRow['row']): BackupRow['row'] {
  const row: Record<string, unknown> = { ...found };
  for (const [column, bytes] of Object.entries(row)) {
    if (!(bytes instanceof Uint8Array)) continue;
    row[column] = `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
  }
  return row;
}

export function textAsBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

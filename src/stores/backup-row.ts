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

/** PostgreSQL's text form of bytes, which it reads without a cast. */
export function bytesAsText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

export function textAsBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

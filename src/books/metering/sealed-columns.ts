/** Seals again what an earlier secret sealed; the same bytes where the current one did. Null where none opens it. */
export type SealAgain = (sealed: Uint8Array, context: string, inside?: (plain: Buffer) => Buffer) => Uint8Array | null;

/** A column whose values `storage.secret` seals. */
export interface SealedColumn {
  kind: string;
  /** The embedded storage's file; PostgreSQL has all tables in one database. */
  file: string;
  table: string;
  /** The primary key, in its order. */
  key: readonly string[];
  column: string;
  /** Whether most rows have no value: they are passed over some at a time. Absent: they have one. */
  sparse?: boolean;
  /** More columns that the context needs, or SQL with `@` before names of tables. */
  also?: readonly string[];
  purpose: string;
  contextOf(row: Readonly<Record<string, unknown>>): string;
  /** Seals again what is sealed within the opened value. */
  inside?(plain: Buffer, row: Readonly<Record<string, unknown>>, seal: SealAgain): Buffer;
}

/** Objects in a bucket with the contents of files. */
export interface SealedContents {
  purpose: string;
  chunkBytes: number;
  nameOf(file: string, chunk: number): string;
  contextOf(file: { id: string; tenant: string }, chunk: number): string;
}

/** How many values of a kind the current secret has sealed, earlier ones, or none that this server has. */
export interface SealedCounts {
  kind: string;
  current: number;
  earlier: number;
  lost: number;
}

/** Where a pass goes on: which part, and the key of the row behind which. */
export interface SealedPlace {
  part: number;
  behind: (string | number)[] | null;
}

/**
 * Looks from a place on at what the stores have sealed, for half a second. `seal` seals by the current secret what an earlier
 * one sealed, in small transactions. A pass that was broken off is begun anew, and passes over what is done.
 */
export type SealedStep = (
  mode: 'look' | 'seal',
  from: SealedPlace,
) => Promise<{ kinds: SealedCounts[]; next: SealedPlace | null }>;

import { culvert } from '../kernel/command-form.ts';

/** One step of a schema forward; never edited once released. `sql` may hold several statements. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  version: number;
  name: string;
  sql: string;
}

/** How far the schema of one database is, for `culvert migrate --check`. */
export interface SchemaState {
  /** A file's name in the data folder, or PostgreSQL's place. */
  database: string;
  /** Present version of the schema, 0 for none. */
  current: number;
  /** Names of the steps that a start would take, in order. */
  pending: readonly string[];
  /** A request takes the steps, the first that needs the database. */
  later?: true;
}

/** Tables that a later version made. Its message is a sentence for the operator. */
export class NewerSchema extends Error {
  /**
   * `place`: the file, or the database without user and password. `copy`: a file of the schema that this program knows,
   * which a newer one kept; null where there is none.
   */
  constructor(place: string, found: number, known: number, copy: string | null) {
    const back =
      copy === null
        ? 'restore a backup that was made before the upgrade'
        : `put ${copy} in its place and remove its -wal file`;
    super(
      `${place} was written by a newer Culvert (schema ${found}, this one knows ${known}); run that version, or ${back}`,
    );
  }
}

/** Tables that a start of this version would change, where a command only looks. Its message is a sentence for the operator. */
export class OlderSchema extends Error {
  /** `place`: the database without user and password. */
  constructor(place: string, found: number) {
    super(
      `An earlier Culvert (schema ${found}) wrote ${place}, and only a start or ${culvert} migrate changes that, so accounts and keys there were not read`,
    );
  }
}

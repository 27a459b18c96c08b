import type { Row } from './sql-tables.ts';

/** Types of fields by the kind of their cell; with `?` it may be null. `flag` is 0 or 1, `json` text. */
interface FieldTypes {
  text: string;
  'text?': string | null;
  number: number;
  'number?': number | null;
  bytes: Uint8Array;
  'bytes?': Uint8Array | null;
  flag: boolean;
  json: unknown;
  'json?': unknown;
}

type Kind = keyof FieldTypes;

type FieldsOf<T, K extends Kind> = {
  [Field in keyof T]-?: T[Field] extends FieldTypes[K]
    ? K extends 'text?' | 'number?' | 'bytes?'
      ? null extends T[Field]
        ? Field
        : never
      : Field
    : never;
}[keyof T];

type Kinds<T> = { readonly [K in Kind]?: readonly FieldsOf<T, K>[] };
type Listed<S> = S[keyof S] extends infer List ? (List extends readonly (infer Field)[] ? Field : never) : never;

/** Names of columns that are not their field's. */
type Names<T> = { readonly [Field in keyof T]?: string };

/** The columns of a table whose rows are `T`. */
export interface RowShape<T> {
  /** `id, key_id, …` */
  columns: string;
  /** `INSERT INTO … VALUES …` with the places of `cells`. */
  insert(table: string): string;
  /** The same, which replaces the row of that `key`. */
  put(table: string, key: string): string;
  /** A row that has these columns, and perhaps others. */
  read(row: Row): T;
  /** Values of the columns, in their order. */
  cells(of: T): unknown[];
  /** The same by column. */
  record(of: T): Record<string, unknown>;
}

/**
 * The shape of a table's rows: each field of `T`, by the kind of its cell. A field that is forgotten does not compile.
 * `rowShape<FileRow>()({ text: ['id', 'tenant'], number: ['createdMs'] })`
 */
export function rowShape<T>() {
  return <const S extends Kinds<T>>(
    kinds: S & (Exclude<keyof T, Listed<S>> extends never ? unknown : { forgotten: Exclude<keyof T, Listed<S>> }),
    names?: Names<T>,
  ): RowShape<T> => {
    const all = Object.entries(kinds as Record<Kind, readonly string[]>).flatMap(([kind, fields]) =>
      fields.map((field) => ({ field, kind: kind as Kind, column: columnOf(field, names as Record<string, string>) })),
    );
    const columns = all.map(({ column }) => column).join(', ');
    const places = all.map((_, at) => `$${at + 1}`).join(', ');
    const replaced = all.map(({ column }) => `${column} = excluded.${column}`).join(', ');
    const insert = (table: string) => `INSERT INTO ${table} (${columns}) VALUES (${places})`;
    const cells = (of: T) => all.map(({ field, kind }) => toCell(kind, of[field as keyof T]));
    return {
      columns,
      insert,
      put: (table, key) => `${insert(table)} ON CONFLICT (${key}) DO UPDATE SET ${replaced}`,
      read: (row) =>
        Object.fromEntries(all.map(({ field, kind, column }) => [field, fromCell(kind, row[column])])) as T,
      cells,
      record(of) {
        const values = cells(of);
        return Object.fromEntries(all.map(({ column }, at) => [column, values[at]]));
      },
    };
  };
}

function columnOf(field: string, names: Readonly<Record<string, string>> = {}): string {
  return names[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCell(kind: Kind, value: unknown): unknown {
  if (kind === 'flag') return value === true ? 1 : 0;
  if (kind !== 'json' && kind !== 'json?') return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function fromCell(kind: Kind, cell: unknown): unknown {
  if (cell === null || cell === undefined) return null;
  if (kind.startsWith('text')) return String(cell);
  // PostgreSQL gives whole numbers as text where they may be large.
  if (kind.startsWith('number')) return Number(cell);
  if (kind.startsWith('json')) return JSON.parse(String(cell));
  return kind === 'flag' ? cell === 1 || cell === true : cell;
}

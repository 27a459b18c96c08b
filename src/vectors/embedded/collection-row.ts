import { crc32 } from 'node:zlib';
import type { JsonObject } from '../../kernel/json.ts';
import type { CollectionSpec, Distance, NamedSpecs, PayloadType } from '../collection.ts';
import type { CollectionSettings } from '../collection-settings.ts';
import { DamagedRows } from './storage-trouble.ts';

export interface CollectionRow {
  /** Its number in the file; never used again. */
  cid: number;
  tenant: string;
  account: string;
  spec: CollectionSpec;
  /** Numbers of its named vectors' fields, by name. */
  fields: Readonly<Record<string, number>>;
  points: number;
  /** Sequence number of its last write operation. */
  seq: number;
  /** Payload indexes by key: columns are made as filters ask for them, whether there is one or not. */
  indexes: readonly { key: string; type: PayloadType; params?: JsonObject }[];
}

/** Columns of a collection, in the order of `readRow`. */
export const collectionColumns = 'cid, tenant, name, account, size, distance, model, points, seq, indexes, sum, more';

/** Throws `DamagedRows` for a row that differs from what was written. */
export function readAlias(row: unknown[]): { alias: string; cid: number } {
  const [tenant, alias, cid, sum] = row as [string, string, number, number];
  if (sumOfAlias(tenant, alias, cid) !== sum) throw new DamagedRows('an alias');
  return { alias, cid };
}

/** Throws `DamagedRows` for a row that differs from what was written, or is missing. */
export function readRow(row: unknown[] | undefined): CollectionRow {
  if (row === undefined) throw new DamagedRows('the row of a collection');
  const [cid, tenant, name, account, size, distance, model, points, seq, indexes, sum, more] = row as [
    number,
    string,
    string,
    string,
    number,
    Distance,
    string | null,
    number,
    number,
    string,
    number,
    string | null,
  ];
  const spec: CollectionSpec = { name, size, distance, embeddingModel: model };
  const read = { cid, tenant, account, spec, points, seq };
  if (sumOfText(read, indexes, more) !== sum) throw new DamagedRows('the row of a collection');
  const { named, settings, fields }: More = more === null ? { fields: {} } : JSON.parse(more);
  if (named !== undefined) spec.named = named;
  if (settings !== undefined) spec.settings = settings;
  return { ...read, fields, indexes: JSON.parse(indexes) };
}

/** Contents of the column of that name. */
interface More {
  named?: NamedSpecs;
  settings?: CollectionSettings;
  fields: Readonly<Record<string, number>>;
}

/** Null for a collection that has nothing of it, as those had that were made before there was such a column. */
export function moreOf({ named, settings }: CollectionSpec, fields: CollectionRow['fields']): string | null {
  if (named === undefined && settings === undefined) return null;
  const more: More = { ...(named !== undefined && { named }), fields, ...(settings !== undefined && { settings }) };
  return JSON.stringify(more);
}

/** A new collection's row, before it has fields for named vectors, and settings. */
export function plainOf({ named: _, settings: __, ...spec }: CollectionSpec): CollectionSpec {
  return spec;
}

/** Tells a row that was damaged on the disk from the one that was written. */
export function sumOf(row: Omit<CollectionRow, 'cid'>): number {
  return sumOfText(row, JSON.stringify(row.indexes), moreOf(row.spec, row.fields));
}

function sumOfText(
  row: Omit<CollectionRow, 'cid' | 'indexes' | 'fields'>,
  indexes: string,
  more: string | null,
): number {
  const { name, size, distance, embeddingModel } = row.spec;
  const columns = [row.tenant, row.account, name, size, distance, embeddingModel, row.points, row.seq, indexes];
  return crc32(JSON.stringify(more === null ? columns : [...columns, more]));
}

export function sumOfAlias(tenant: string, alias: string, cid: number): number {
  return crc32(JSON.stringify([tenant, alias, cid]));
}

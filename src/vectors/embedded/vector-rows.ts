import type { VectorSpec } from '../collection.ts';
import type { VectorValue } from '../point.ts';
import type { CollectionRow } from './collection-row.ts';
import type { FieldTable } from './field-table.ts';
import type { PointTable } from './point-table.ts';
import { decodeVector } from './vector-values.ts';

/** All vectors of one name of a collection, as they are stored. */
export interface VectorRows {
  /** '' for the unnamed one. */
  readonly name: string;
  readonly spec: VectorSpec;
  /** Its field; null for the unnamed one, which stands in the points' own rows. */
  readonly fid: number | null;
  /** Points that have one; of the unnamed one all points. */
  count(): number;
  /** As of the transaction that is open; no effect on the unnamed one. */
  setCount(count: number): void;
  /** Null when the point has none. */
  value(slot: number): VectorValue | null;
  has(slot: number): boolean;
  /** By slot. */
  each(visit: (slot: number, value: VectorValue) => void): void;
  /** Slots of the points that have one, ascending. */
  slots(): Iterable<number>;
}

export interface VectorTables {
  points: PointTable;
  fields: FieldTable;
}

export function unnamedRows({ points }: VectorTables, row: CollectionRow, spec: VectorSpec, count: () => number) {
  const { cid } = row;
  const { size } = row.spec;
  return {
    name: '',
    spec,
    fid: null,
    count,
    setCount() {},
    value: (slot) => points.vector(cid, slot, size),
    each: (visit) => points.eachVector(cid, size, visit),
    has: (slot) => points.hasVector(cid, slot),
    slots: () => points.slotsWithVector(cid),
  } satisfies VectorRows as VectorRows;
}

/** Throws `DamagedRows` when not so many rows are there as were written. */
export function namedRows({ fields }: VectorTables, name: string, spec: VectorSpec, fid: number): VectorRows {
  let rows = fields.count(fid);
  return {
    name,
    spec,
    fid,
    count: () => rows,
    setCount(count) {
      rows = count;
    },
    value(slot) {
      const bytes = fields.read(fid, slot);
      return bytes === null ? null : decodeVector(spec, bytes);
    },
    each: (visit) => fields.each(fid, (slot, bytes) => visit(slot, decodeVector(spec, bytes))),
    has: (slot) => fields.has(fid, slot),
    slots: () => fields.slots(fid),
  };
}

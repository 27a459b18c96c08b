import { freeMemory } from '../../kernel/free-memory.ts';
import type { VectorSpec } from '../collection.ts';
import { isMulti, isSparse, type VectorValue } from '../point.ts';
import type { CollectionRow } from './collection-row.ts';
import type { RowPart } from './index/vector-index.ts';
import type { FieldTable } from './named-vector-rows.ts';
import type { PointTable } from './point-table.ts';
import { decodeVector } from './vector-values.ts';

/** All vectors of one name of a collection, as stored. */
export interface VectorRows {
  /** '' for the unnamed one. */
  readonly name: string;
  readonly spec: VectorSpec;
  /** Its field; null for the unnamed one, which is in the points' own rows. */
  readonly fid: number | null;
  /** Points that have one; of the unnamed one all points. */
  count(): number;
  /** Takes part in the open transaction; no effect on the unnamed one. */
  setCount(count: number): void;
  /** Null when the point has none. */
  value(slot: number): VectorValue | null;
  /** The same, good until the next look. */
  look(slot: number): VectorValue | null;
  has(slot: number): boolean;
  /**
   * By slot, all or a part of them; a value is good for its visit. Gives the slot that the next part begins at, null after
   * the last one.
   */
  each(visit: (slot: number, value: VectorValue) => void, part?: RowPart): number | null;
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
  const value = (slot: number) => points.vector(cid, slot, size);
  return {
    name: '',
    spec,
    fid: null,
    count,
    setCount() {},
    value,
    look: oneAtATime(value),
    each: (visit, part) => points.eachVector(cid, size, (slot, vector) => visitOnce(visit, slot, vector), part),
    has: (slot) => points.hasVector(cid, slot),
    slots: () => points.slotsWithVector(cid),
  } satisfies VectorRows as VectorRows;
}

/** Throws `DamagedRows` when rows are missing. */
export function namedRows({ fields }: VectorTables, name: string, spec: VectorSpec, fid: number): VectorRows {
  let rows = fields.count(fid);
  const value = (slot: number) => {
    const bytes = fields.read(fid, slot);
    return bytes === null ? null : decodeVector(spec, bytes);
  };
  return {
    name,
    spec,
    fid,
    count: () => rows,
    setCount(count) {
      rows = count;
    },
    value,
    look: oneAtATime(value),
    each: (visit, part) => fields.each(fid, (slot, bytes) => visitOnce(visit, slot, decodeVector(spec, bytes)), part),
    has: (slot) => fields.has(fid, slot),
    slots: () => fields.slots(fid),
  };
}

function oneAtATime(value: VectorRows['value']): VectorRows['look'] {
  let last: VectorValue | null = null;
  return (slot) => {
    if (last !== null) freeMemory(memoryOf(last));
    last = null;
    last = value(slot);
    return last;
  };
}

function visitOnce(visit: (slot: number, value: VectorValue) => void, slot: number, value: VectorValue): void {
  visit(slot, value);
  freeMemory(memoryOf(value));
}

function memoryOf(value: VectorValue): ArrayBufferLike {
  if (isSparse(value)) return value.indices.buffer;
  return isMulti(value) ? value.numbers.buffer : value.buffer;
}

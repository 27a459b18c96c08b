import { crc32 } from 'node:zlib';
import { vectorSpecOf } from '../collection.ts';
import type { PointId } from '../point.ts';
import type { CollectionMemory } from './collection-memory.ts';
import type { CollectionRow } from './collection-row.ts';
import { finish, type Steps } from './index/resumable-steps.ts';
import type { PointTable } from './point-table.ts';
import { createSlots, type Slots } from './row-slots.ts';
import { DamagedRows } from './storage-trouble.ts';
import { namedRows, unnamedRows, type VectorRows, type VectorTables } from './vector-rows.ts';

/** Open at a time; one with few points takes about 1 KB. The least recently used is closed, and opened again when asked. */
const openMax = 10_000;
/** Up to here opening reads every row against its checksum and its id; larger ones are read so when they are indexed. */
export const checkedPointsMax = 4_096;
const checkedPerStep = 2_000;

/** A collection in use: what its rows do not say at a glance. */
export interface OpenCollection {
  readonly cid: number;
  readonly size: number;
  row: CollectionRow;
  /** By name; '' is the unnamed one. */
  readonly vectors: ReadonlyMap<string, VectorRows>;
  readonly slots: Slots;
  readonly memory: CollectionMemory;
  /** Transactions that have touched it and not ended. */
  pins: number;
  /** False: that its rows are as many as its table says is checked when an index has been taken up. */
  isCounted: boolean;
}

export type OpenCollections = ReturnType<typeof createOpenCollections>;

export interface OpenCollectionParts {
  memoryOf(row: CollectionRow, vectors: OpenCollection['vectors'], now: () => CollectionRow): CollectionMemory;
  /** Whether an index of these vectors is kept, which makes the first search so quick that counting is felt. */
  hasImage(row: CollectionRow, vector: VectorRows): boolean;
}

export function createOpenCollections(tables: VectorTables, parts: OpenCollectionParts) {
  const { points } = tables;
  /** In order of use. */
  const opened = new Map<number, OpenCollection>();

  function make(row: CollectionRow): OpenCollection {
    const { cid } = row;
    const count = row.points;
    const pointCount = () => open.row.points;
    const vectors = vectorsOf(tables, row, pointCount);
    const isCounted = count <= checkedPointsMax || ![...vectors.values()].some((vector) => parts.hasImage(row, vector));
    if (isCounted && points.count(cid) !== count) throw new DamagedRows('the number of points');
    if (count <= checkedPointsMax) finish(checkRows(points, cid));
    const last = points.lastSlot(cid);
    const slots = createSlots(last + 1, last + 1 === count ? null : () => points.slots(cid));
    const memory = parts.memoryOf(row, vectors, () => open.row);
    const open: OpenCollection = { cid, size: row.spec.size, row, vectors, slots, memory, pins: 0, isCounted };
    return open;
  }

  function close(cid: number): void {
    opened.get(cid)?.memory.close();
    opened.delete(cid);
  }

  function evict(): void {
    for (const [cid, { pins }] of opened) {
      if (opened.size <= openMax) return;
      if (pins === 0) close(cid);
    }
  }

  return {
    /** Throws `DamagedRows` when the rows are not those that were written. */
    open(row: CollectionRow): OpenCollection {
      const known = opened.get(row.cid);
      const open = known ?? make(row);
      open.row = row;
      opened.delete(row.cid);
      opened.set(row.cid, open);
      if (known === undefined) evict();
      return open;
    },
    /** Forgets it; its memory is given back. */
    close,
    closeAll(): void {
      for (const cid of [...opened.keys()]) close(cid);
    },
    /** Open collections, the least recently used first. */
    all: (): Iterable<OpenCollection> => opened.values(),
  };
}

function vectorsOf(tables: VectorTables, row: CollectionRow, points: () => number): Map<string, VectorRows> {
  const vectors = new Map<string, VectorRows>();
  const unnamed = row.spec.size > 0 ? vectorSpecOf(row.spec, '') : null;
  if (unnamed !== null) vectors.set('', unnamedRows(tables, row, unnamed, points));
  for (const [name, spec] of Object.entries(row.spec.named ?? {})) {
    vectors.set(name, namedRows(tables, name, spec, row.fields[name]!));
  }
  return vectors;
}

/** Checks that every row is sound and that both orders name the same points; throws `DamagedRows` otherwise. */
export function* checkRows(points: PointTable, cid: number): Steps<void> {
  let difference = 0;
  for (let from: number | null = 0; from !== null; yield) {
    from = points.eachRow(cid, (slot, id) => (difference ^= mark(slot, id)), { from, limit: checkedPerStep });
  }
  for (let from: PointId | null = null; ; yield) {
    // One more: the first of the next part.
    const part = points.byId(cid, from, checkedPerStep + 1);
    for (const { slot, id } of part.slice(0, checkedPerStep)) difference ^= mark(slot, id);
    const next = part[checkedPerStep];
    if (next === undefined) break;
    from = next.id;
  }
  if (difference !== 0) throw new DamagedRows('points and their ids');
}

function mark(slot: number, id: PointId): number {
  return crc32(typeof id === 'number' ? String(id) : id, slot);
}

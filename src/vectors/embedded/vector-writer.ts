import type { VectorBatch, VectorValue } from '../point.ts';
import type { VectorChange } from './collection-memory.ts';
import type { OpenCollection } from './open-collection.ts';
import type { VectorRows, VectorTables } from './vector-rows.ts';
import { encodeVector, normalised, storable, vectorBytes } from './vector-values.ts';

/** The stored vectors of a batch, by the point's place in it. */
export interface StorableVectors {
  /** Null for a point that has no unnamed one. */
  unnamed(i: number): Float32Array | null;
  /** Undefined where the batch says nothing of that name. */
  named(vector: VectorRows, i: number): VectorValue | null | undefined;
}

/** Writes the vectors of a collection's points, inside a transaction. Returns changes for the state in memory. */
export class VectorWriter {
  readonly #tables: VectorTables;
  readonly #open: OpenCollection;
  readonly #unnamedBytes: number;
  readonly #named: readonly VectorRows[];
  /** That the collection's vectors take more, or less. */
  bytes = 0;

  constructor(tables: VectorTables, open: OpenCollection) {
    this.#tables = tables;
    this.#open = open;
    this.#unnamedBytes = open.size * Float32Array.BYTES_PER_ELEMENT;
    this.#named = [...open.vectors.values()].filter(({ fid }) => fid !== null);
  }

  /** Throws a FailureError for a vector that cannot be stored, when it is read. */
  storable(batch: VectorBatch): StorableVectors {
    const { size, row } = this.#open;
    const columns = new Map((batch.named ?? []).map((column) => [column.name, column.values]));
    const isEmpty = batch.vectors.length === 0;
    const vectors = !isEmpty && row.spec.distance === 'Cosine' ? normalised(batch.vectors, size) : batch.vectors;
    return {
      unnamed: (i) => (isEmpty || batch.without?.has(i) ? null : vectors.subarray(i * size, (i + 1) * size)),
      named({ name, spec }, i) {
        const value = columns.get(name)?.[i];
        return value == null ? value : storable(spec, value, `points[${i}].vector.${name}`);
      },
    };
  }

  /** All vectors of a point that is put whole. The unnamed one is in the point's row already; `had`: there was one. */
  whole(slot: number, given: StorableVectors, i: number, point: { isNew: boolean; had: boolean }): VectorChange[] {
    const changes: VectorChange[] = [];
    if (this.#open.size > 0) {
      const value = given.unnamed(i);
      this.#count(value !== null, point.had);
      changes.push({ name: '', value, before: null });
    }
    for (const vector of this.#named) {
      const change = this.#setNamed(vector, slot, given.named(vector, i) ?? null, point.isNew);
      if (change !== null) changes.push(change);
    }
    return changes;
  }

  /** The given vectors; others stay. */
  some(slot: number, given: StorableVectors, i: number): VectorChange[] {
    const changes: VectorChange[] = [];
    const unnamed = given.unnamed(i);
    if (unnamed !== null) changes.push(this.#setUnnamed(slot, unnamed));
    for (const vector of this.#named) {
      const value = given.named(vector, i);
      const change = value == null ? null : this.#setNamed(vector, slot, value, false);
      if (change !== null) changes.push(change);
    }
    return changes;
  }

  /** Vectors of a point that is removed; its row goes later. */
  removed(slot: number): VectorChange[] {
    const { cid, size } = this.#open;
    const had = size > 0 && this.#tables.points.hasVector(cid, slot);
    return this.whole(slot, none, 0, { isNew: false, had });
  }

  /** Null: there was none of that name. */
  remove(slot: number, vector: VectorRows): VectorChange | null {
    return vector.fid === null ? this.#setUnnamed(slot, null) : this.#setNamed(vector, slot, null, false);
  }

  /** Counts of named vectors are written once, at the end. */
  end(): void {
    for (const { fid, count } of this.#named) this.#tables.fields.setCount(fid!, this.#open.cid, count());
  }

  #setUnnamed(slot: number, value: Float32Array | null): VectorChange {
    const { points } = this.#tables;
    const { cid } = this.#open;
    this.#count(value !== null, points.hasVector(cid, slot));
    points.setVector(cid, slot, value);
    return { name: '', value, before: null };
  }

  #setNamed(vector: VectorRows, slot: number, value: VectorValue | null, isNew: boolean): VectorChange | null {
    const before = isNew ? null : vector.value(slot);
    if (before === null && value === null) return null;
    const fid = vector.fid!;
    if (value === null) this.#tables.fields.remove(fid, slot);
    else this.#tables.fields.put(fid, slot, encodeVector(value));
    this.bytes += (value === null ? 0 : vectorBytes(value)) - (before === null ? 0 : vectorBytes(before));
    if ((before === null) !== (value === null)) vector.setCount(vector.count() + (value === null ? -1 : 1));
    const previous = vector.spec.kind === 'sparse' && this.#open.memory.holds(vector.name) ? before : null;
    return { name: vector.name, value, before: previous };
  }

  #count(has: boolean, had: boolean): void {
    this.bytes += (Number(has) - Number(had)) * this.#unnamedBytes;
  }
}

const none: StorableVectors = { unnamed: () => null, named: () => null };

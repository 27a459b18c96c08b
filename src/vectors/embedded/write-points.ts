import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { checkBatch } from '../check-vector.ts';
import { parseExact } from '../exact-json.ts';
import type { Filter } from '../filter/filter.ts';
import { deleteByPath, mergePayload } from '../filter/payload-change.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointBatch, PointId, VectorBatch } from '../point.ts';
import { noPoint, payloadCharsMax } from '../vector-refusals.ts';
import type { Selection, UpdateCondition, WriteOperation } from '../vector-store.ts';
import type { CallBounds } from './call-bounds.ts';
import type { OpenCollection } from './open-collection.ts';
import { slotMax } from './point-row.ts';
import { vectorsUsed } from './query/resolve-input.ts';
import { pointOverheadBytes } from './shards/shard-schema.ts';
import type { VectorTables } from './vector-rows.ts';
import { VectorWriter } from './vector-writer.ts';

/**
 * Does the operations in order, inside a transaction. The collection's state in memory is noted for its commit. Throws
 * a FailureError when one does not fit the collection or names an unknown point: the caller rolls back. Returns the
 * bytes gained or lost.
 */
export function writePoints(
  tables: VectorTables,
  open: OpenCollection,
  operations: readonly WriteOperation[],
  bounds: CallBounds,
): number {
  const writer = new PointWriter(tables, open, bounds);
  for (const operation of operations) {
    open.row.seq++;
    writer.write(operation);
  }
  return writer.end();
}

class PointWriter {
  readonly #points: VectorTables['points'];
  readonly #open: OpenCollection;
  readonly #vectors: VectorWriter;
  readonly #payloads: PayloadWriter;
  readonly #pointsMax: number;
  /** Changes of one call are bounded, too: a short call may change all points. */
  #pointsLeft: number;
  /** Bytes of rows, without vectors and changed payloads. */
  #bytes = 0;

  constructor(tables: VectorTables, open: OpenCollection, bounds: CallBounds) {
    this.#points = tables.points;
    this.#open = open;
    this.#vectors = new VectorWriter(tables, open);
    this.#payloads = new PayloadWriter(tables, open, bounds);
    this.#pointsMax = bounds.changedPoints;
    this.#pointsLeft = bounds.changedPoints;
  }

  write(operation: WriteOperation): void {
    switch (operation.kind) {
      case 'upsert':
        return this.#upsert(operation.points, operation);
      case 'delete':
        for (const slot of this.#selected(operation.which, 'left-out')) this.#remove(slot);
        return;
      case 'update-vectors':
        return this.#updateVectors(operation, operation.updateFilter);
      case 'delete-vectors':
        return this.#deleteVectors(this.#selected(operation.which, 'left-out'), operation.names);
      case 'clear-payload':
        return this.#changePayloads(this.#selected(operation.which, 'left-out'), operation);
      default:
        return this.#changePayloads(this.#selected(operation.which, 'refused'), operation);
    }
  }

  /** The bytes that the collection keeps more, or less. */
  end(): number {
    this.#vectors.end();
    return this.#bytes + this.#vectors.bytes + this.#payloads.bytes;
  }

  #upsert(batch: PointBatch, { updateFilter, updateMode }: UpdateCondition): void {
    const { cid, row, slots, size, memory } = this.#open;
    checkBatch(row.spec, batch);
    const points = this.#points;
    const pass = this.#passing(batch.ids, updateFilter);
    const given = this.#vectors.storable(batch);
    batch.ids.forEach((id, i) => {
      const known = points.slotOfId(cid, id);
      if (updateMode === (known === null ? 'update_only' : 'insert_only')) return;
      if (known !== null && pass?.has(known) === false) return;
      const payload = batch.payloads[i] ?? null;
      this.#bytes += payloadBytes(payload);
      const slot = known ?? slots.take();
      const had = known !== null && size > 0 && points.hasVector(cid, known);
      if (known === null) this.#insert(slot, id, payload, given.unnamed(i));
      else {
        this.#bytes -= points.payloadBytes(cid, known);
        points.replace(cid, known, id, payload, given.unnamed(i));
      }
      const vectors = this.#vectors.whole(slot, given, i, { isNew: known === null, had });
      memory.note({ kind: 'put', slot, vectors, payload });
    });
  }

  #insert(slot: number, id: PointId, payload: string | null, vector: Float32Array | null): void {
    if (slot > slotMax) throw new FailureError(invalid('points', `a collection holds at most ${slotMax + 1} points`));
    this.#bytes += pointOverheadBytes;
    this.#points.insert(this.#open.cid, slot, id, payload, vector);
    this.#open.row.points++;
  }

  #remove(slot: number): void {
    const { cid, slots, row, memory } = this.#open;
    this.#takePoint();
    this.#bytes -= pointOverheadBytes + this.#points.payloadBytes(cid, slot);
    const vectors = this.#vectors.removed(slot);
    this.#points.remove(cid, slot);
    slots.give(slot);
    row.points--;
    memory.note({ kind: 'remove', slot, vectors });
  }

  #changePayloads(slots: Iterable<number>, operation: PayloadOperation): void {
    const change = payloadChange(operation);
    for (const slot of slots) {
      this.#takePoint();
      this.#payloads.change(slot, change);
    }
  }

  #updateVectors(batch: VectorBatch, updateFilter: Filter | undefined): void {
    const { cid, row, memory } = this.#open;
    checkBatch(row.spec, batch);
    const pass = this.#passing(batch.ids, updateFilter);
    const given = this.#vectors.storable(batch);
    batch.ids.forEach((id, i) => {
      const slot = this.#points.slotOfId(cid, id);
      if (slot === null) throw noPoint(id);
      if (pass?.has(slot) === false) return;
      memory.note({ kind: 'put', slot, vectors: this.#vectors.some(slot, given, i) });
    });
  }

  #deleteVectors(slots: Iterable<number>, names: readonly string[]): void {
    const usedVectors = names.map((name) => vectorsUsed(this.#open, name));
    for (const slot of slots) {
      this.#takePoint();
      const vectors = usedVectors.map((one) => this.#vectors.remove(slot, one)).filter((change) => change !== null);
      this.#open.memory.note({ kind: 'put', slot, vectors });
    }
  }

  /** Slots of the points that may be changed; null: all of them. */
  #passing(ids: readonly PointId[], filter: Filter | undefined): ReadonlySet<number> | null {
    if (filter === undefined) return null;
    const must = [{ kind: 'has-id', ids: new Set(ids) } as const, ...filter.must];
    return new Set(this.#open.memory.select({ ...filter, must }, 'now'));
  }

  /** Slots of a selection; ids that are unknown are left out, or refused. */
  #selected(which: Selection, unknown: 'left-out' | 'refused'): Iterable<number> {
    if ('filter' in which) return this.#open.memory.select(which.filter, 'now');
    const found = new Set<number>();
    for (const id of which.ids) {
      const slot = this.#points.slotOfId(this.#open.cid, id);
      if (slot !== null) found.add(slot);
      else if (unknown === 'refused') throw noPoint(id);
    }
    return found;
  }

  #takePoint(): void {
    this.#pointsLeft -= 1;
    if (this.#pointsLeft >= 0) return;
    const message = `filter: a call changes or deletes at most ${this.#pointsMax} points, and counts a point each time. Change fewer at once`;
    throw new FailureError(invalid('filter', message));
  }
}

/** Most points that a call writes: its part of a group commit. */
export function pointsOf(operations: readonly WriteOperation[]): number {
  let points = 0;
  for (const operation of operations) {
    if (operation.kind === 'upsert') points += operation.points.ids.length;
    else if (operation.kind === 'update-vectors') points += operation.ids.length;
    else points += 'ids' in operation.which ? operation.which.ids.length : 1;
  }
  return points;
}

type PayloadOperation = Extract<
  WriteOperation,
  { kind: 'set-payload' | 'overwrite-payload' | 'delete-payload' | 'clear-payload' }
>;

/** Gives the new payload of the old one, in place or not; null: none. */
type PayloadChange = (payload: JsonObject) => JsonObject | null;

/** Throws a FailureError (400) for a payload or a path that is none. */
function payloadChange(operation: PayloadOperation): PayloadChange {
  switch (operation.kind) {
    case 'set-payload': {
      const changes = objectOf(operation.payload);
      const steps = operation.key === null ? [] : readKeyPath(operation.key, 'key').steps;
      return (payload) => {
        mergePayload(payload, changes, steps);
        return payload;
      };
    }
    case 'overwrite-payload': {
      const payload = objectOf(operation.payload);
      return () => payload;
    }
    case 'delete-payload': {
      const paths = operation.keys.map((key) => readKeyPath(key, 'keys').steps);
      return (payload) => {
        for (const steps of paths) deleteByPath(payload, steps);
        return payload;
      };
    }
    case 'clear-payload':
      return () => null;
  }
}

/** Changes the payloads of a collection's points, inside a transaction; bounded for each call. */
class PayloadWriter {
  readonly #tables: VectorTables;
  readonly #open: OpenCollection;
  readonly #charsMax: number;
  #charsLeft: number;
  /** That payloads take more, or less. */
  bytes = 0;

  constructor(tables: VectorTables, open: OpenCollection, bounds: CallBounds) {
    this.#tables = tables;
    this.#open = open;
    this.#charsMax = bounds.changedChars;
    this.#charsLeft = bounds.changedChars;
  }

  /** Throws a FailureError (400) for a payload that becomes too long, or when the call changes too much. */
  change(slot: number, change: PayloadChange): void {
    const { cid, memory } = this.#open;
    const row = this.#tables.points.row(cid, slot);
    const changed = change(row.payload === null ? {} : (parseExact(row.payload) as JsonObject));
    const payload = changed === null ? null : this.#textOf(changed, row.id);
    this.bytes += payloadBytes(payload) - payloadBytes(row.payload);
    this.#tables.points.setPayload(cid, slot, row.id, payload);
    memory.note({ kind: 'put', slot, vectors: [], payload });
  }

  #textOf(changed: JsonObject, id: PointId): string {
    const text = JSON.stringify(changed);
    if (text.length > payloadCharsMax) {
      const message = `payload: a payload has at most ${payloadCharsMax} characters of JSON, that of point ${id} would have ${text.length}`;
      throw new FailureError(invalid('payload', message));
    }
    this.#charsLeft -= text.length;
    if (this.#charsLeft < 0) {
      const message = `payload: a call may change payloads of ${this.#charsMax} characters of JSON in all; change fewer points at once`;
      throw new FailureError(invalid('payload', message));
    }
    return text;
  }
}

function payloadBytes(payload: string | null): number {
  return payload === null ? 0 : Buffer.byteLength(payload);
}

function objectOf(text: string): JsonObject {
  const value = parseExact(text);
  if (!isObject(value)) throw new FailureError(invalid('payload', 'payload: expected an object'));
  return value;
}

import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { checkBatch } from '../check-vector.ts';
import type { Filter } from '../filter/filter.ts';
import { deleteByPath, mergePayload } from '../filter/payload-change.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointBatch, PointId, VectorBatch, VectorValue } from '../point.ts';
import { noPoint, payloadCharsMax } from '../refusals.ts';
import type { Selection, UpdateCondition, WriteOperation } from '../store.ts';
import type { CallBounds } from './call-bounds.ts';
import type { VectorChange } from './collection-memory.ts';
import type { OpenCollection } from './open-collection.ts';
import { slotMax } from './point-row.ts';
import { vectorsUsed } from './resolve-input.ts';
import { pointOverheadBytes } from './shard-file.ts';
import type { VectorRows, VectorTables } from './vector-rows.ts';
import { encodeVector, normalised, storable, vectorBytes } from './vector-values.ts';

/**
 * Does the operations in order, inside a transaction. What the collection has in memory is noted for when it commits.
 * Throws a FailureError for what does not fit the collection or names an unknown point: the caller rolls back. Returns
 * the bytes that it keeps more, or less.
 */
export function writePoints(
  { points, fields }: VectorTables,
  open: OpenCollection,
  operations: readonly WriteOperation[],
  bounds: CallBounds,
): number {
  const { cid, size, memory, slots } = open;
  const unnamedBytes = size * Float32Array.BYTES_PER_ELEMENT;
  let bytes = 0;
  const { distance } = open.row.spec;
  const named = [...open.vectors.values()].filter(({ fid }) => fid !== null);

  /** The unnamed vectors of a batch as they are stored; null for a point that has none. */
  function unnamedOf({ vectors: given, without }: VectorBatch): (i: number) => Float32Array | null {
    if (given.length === 0) return () => null;
    const vectors = distance === 'Cosine' ? normalised(given, size) : given;
    return (i) => (without?.has(i) ? null : vectors.subarray(i * size, (i + 1) * size));
  }

  /** The named vectors of a batch as they are stored; undefined where the batch says nothing of that name. */
  function namedOf(batch: VectorBatch): (vector: VectorRows, i: number) => VectorValue | null | undefined {
    const columns = new Map((batch.named ?? []).map((column) => [column.name, column.values]));
    return ({ name, spec }, i) => {
      const value = columns.get(name)?.[i];
      return value == null ? value : storable(spec, value, `points[${i}].vector.${name}`);
    };
  }

  /** Puts a named vector, or takes it away; the change to be noted, null where nothing changed. */
  function setNamed(vector: VectorRows, slot: number, value: VectorValue | null, isNew: boolean): VectorChange | null {
    const before = isNew ? null : vector.value(slot);
    if (before === null && value === null) return null;
    const fid = vector.fid!;
    if (value === null) fields.remove(fid, slot);
    else fields.put(fid, slot, encodeVector(value));
    bytes += (value === null ? 0 : vectorBytes(value)) - (before === null ? 0 : vectorBytes(before));
    if ((before === null) !== (value === null)) vector.setCount(vector.count() + (value === null ? -1 : 1));
    const kept = vector.spec.kind === 'sparse' && memory.holds(vector.name) ? before : null;
    return { name: vector.name, value, before: kept };
  }

  /** Slots of the points that may be changed; null: all of them. */
  function passing(ids: readonly PointId[], filter: Filter | undefined): ReadonlySet<number> | null {
    if (filter === undefined) return null;
    const must = [
      { kind: 'has-id', ids: new Set(ids) },
      { kind: 'filter', filter },
    ] as const;
    return new Set(memory.select({ must, should: [], mustNot: [], minShould: null }));
  }

  function upsert(batch: PointBatch, { updateFilter, updateMode }: UpdateCondition): void {
    checkBatch(open.row.spec, batch);
    const pass = passing(batch.ids, updateFilter);
    const unnamed = unnamedOf(batch);
    const namedAt = namedOf(batch);
    batch.ids.forEach((id, i) => {
      const known = points.slotOfId(cid, id);
      if (updateMode === (known === null ? 'update_only' : 'insert_only')) return;
      if (known !== null && pass?.has(known) === false) return;
      const vector = unnamed(i);
      const payload = batch.payloads[i] ?? null;
      bytes += bytesOf(payload);
      const slot = known ?? slots.take();
      if (known !== null) {
        bytes -= points.payloadBytes(cid, known);
        if (size > 0) bytes += unnamedChange(vector !== null, points.hasVector(cid, known));
        points.replace(cid, known, id, payload, vector);
      } else {
        if (slot > slotMax)
          throw new FailureError(invalid('points', `a collection holds ${slotMax + 1} points at most`));
        bytes += pointOverheadBytes + (vector === null ? 0 : unnamedBytes);
        points.insert(cid, slot, id, payload, vector);
        open.row.points++;
      }
      const vectors: VectorChange[] = size > 0 ? [{ name: '', value: vector, before: null }] : [];
      for (const one of named) {
        const change = setNamed(one, slot, namedAt(one, i) ?? null, known === null);
        if (change !== null) vectors.push(change);
      }
      memory.note({ kind: 'put', slot, vectors, payload });
    });
  }

  function unnamedChange(has: boolean, had: boolean): number {
    return (Number(has) - Number(had)) * unnamedBytes;
  }

  function remove(slot: number): void {
    takePoint();
    bytes -= pointOverheadBytes + points.payloadBytes(cid, slot);
    if (size > 0 && points.hasVector(cid, slot)) bytes -= unnamedBytes;
    points.remove(cid, slot);
    slots.give(slot);
    open.row.points--;
    const vectors: VectorChange[] = size > 0 ? [{ name: '', value: null, before: null }] : [];
    for (const one of named) {
      const change = setNamed(one, slot, null, false);
      if (change !== null) vectors.push(change);
    }
    memory.note({ kind: 'remove', slot, vectors });
  }

  /** Slots of a selection; ids that are unknown are left out, or refused. */
  function selected(which: Selection, unknown: 'left-out' | 'refused'): Iterable<number> {
    if ('filter' in which) return memory.select(which.filter);
    const found = new Set<number>();
    for (const id of which.ids) {
      const slot = points.slotOfId(cid, id);
      if (slot !== null) found.add(slot);
      else if (unknown === 'refused') throw noPoint(id);
    }
    return found;
  }

  /** What a call makes of payloads is bounded, too: one short call may change all points. */
  let pointsLeft = bounds.changedPoints;
  function takePoint(): void {
    if (--pointsLeft >= 0) return;
    const message = `filter: a call changes or deletes at most ${bounds.changedPoints} points, each time one counted; change fewer at once`;
    throw new FailureError(invalid('filter', message));
  }

  let charsLeft = bounds.changedChars;
  function changedText(changed: JsonObject, id: PointId): string {
    const text = JSON.stringify(changed);
    if (text.length > payloadCharsMax) {
      const message = `payload: a payload has at most ${payloadCharsMax} characters of JSON, that of point ${id} would have ${text.length}`;
      throw new FailureError(invalid('payload', message));
    }
    charsLeft -= text.length;
    if (charsLeft < 0) {
      const message = `payload: a call may change payloads of ${bounds.changedChars} characters of JSON in all; change fewer points at once`;
      throw new FailureError(invalid('payload', message));
    }
    return text;
  }

  /** `change` gives the new payload of the old one, in place or not; null: none. */
  function changePayloads(slotsToChange: Iterable<number>, change: (payload: JsonObject) => JsonObject | null): void {
    for (const slot of slotsToChange) {
      takePoint();
      const row = points.row(cid, slot);
      const changed = change(row.payload === null ? {} : (JSON.parse(row.payload) as JsonObject));
      const payload = changed === null ? null : changedText(changed, row.id);
      bytes += bytesOf(payload) - bytesOf(row.payload);
      points.setPayload(cid, slot, row.id, payload);
      memory.note({ kind: 'put', slot, vectors: [], payload });
    }
  }

  function updateVectors(batch: VectorBatch, updateFilter: Filter | undefined): void {
    checkBatch(open.row.spec, batch);
    const pass = passing(batch.ids, updateFilter);
    const unnamed = unnamedOf(batch);
    const namedAt = namedOf(batch);
    batch.ids.forEach((id, i) => {
      const slot = points.slotOfId(cid, id);
      if (slot === null) throw noPoint(id);
      if (pass?.has(slot) === false) return;
      const vectors: VectorChange[] = [];
      const vector = unnamed(i);
      if (vector !== null) vectors.push(setUnnamed(slot, vector));
      for (const one of named) {
        const value = namedAt(one, i);
        const change = value == null ? null : setNamed(one, slot, value, false);
        if (change !== null) vectors.push(change);
      }
      memory.note({ kind: 'put', slot, vectors });
    });
  }

  function setUnnamed(slot: number, value: Float32Array | null): VectorChange {
    bytes += unnamedChange(value !== null, points.hasVector(cid, slot));
    points.setVector(cid, slot, value);
    return { name: '', value, before: null };
  }

  function deleteVectors(slotsToChange: Iterable<number>, names: readonly string[]): void {
    const wanted = names.map((name) => vectorsUsed(open, name));
    for (const slot of slotsToChange) {
      takePoint();
      const vectors: VectorChange[] = [];
      for (const one of wanted) {
        const change = one.fid === null ? setUnnamed(slot, null) : setNamed(one, slot, null, false);
        if (change !== null) vectors.push(change);
      }
      memory.note({ kind: 'put', slot, vectors });
    }
  }

  for (const operation of operations) {
    open.row.seq++;
    switch (operation.kind) {
      case 'upsert':
        upsert(operation.points, operation);
        break;
      case 'delete':
        for (const slot of selected(operation.which, 'left-out')) remove(slot);
        break;
      case 'set-payload': {
        const changes = objectOf(operation.payload);
        const steps = operation.key === null ? [] : readKeyPath(operation.key, 'key').steps;
        changePayloads(selected(operation.which, 'refused'), (payload) => {
          mergePayload(payload, changes, steps);
          return payload;
        });
        break;
      }
      case 'overwrite-payload': {
        const payload = objectOf(operation.payload);
        changePayloads(selected(operation.which, 'refused'), () => payload);
        break;
      }
      case 'delete-payload': {
        const paths = operation.keys.map((key) => readKeyPath(key, 'keys').steps);
        changePayloads(selected(operation.which, 'refused'), (payload) => {
          for (const steps of paths) deleteByPath(payload, steps);
          return payload;
        });
        break;
      }
      case 'clear-payload':
        changePayloads(selected(operation.which, 'left-out'), () => null);
        break;
      case 'update-vectors':
        updateVectors(operation, operation.updateFilter);
        break;
      case 'delete-vectors':
        deleteVectors(selected(operation.which, 'left-out'), operation.names);
        break;
    }
  }
  for (const { fid, count } of named) fields.setCount(fid!, cid, count());
  return bytes;
}

function bytesOf(payload: string | null): number {
  return payload === null ? 0 : Buffer.byteLength(payload);
}

/** Points that a call writes at most: what it takes of a group commit. */
export function pointsOf(operations: readonly WriteOperation[]): number {
  let points = 0;
  for (const operation of operations) {
    if (operation.kind === 'upsert') points += operation.points.ids.length;
    else if (operation.kind === 'update-vectors') points += operation.ids.length;
    else points += 'ids' in operation.which ? operation.which.ids.length : 1;
  }
  return points;
}

function objectOf(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new FailureError(invalid('payload', 'payload: expected an object'));
  return value;
}

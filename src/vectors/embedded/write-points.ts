import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { deleteByPath, mergePayload } from '../filter/payload-change.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointBatch, PointId } from '../point.ts';
import { noPoint, payloadCharsMax } from '../refusals.ts';
import type { Selection, WriteOperation } from '../store.ts';
import type { CallBounds } from './call-bounds.ts';
import type { OpenCollection } from './open-collection.ts';
import { slotMax } from './point-row.ts';
import type { PointTable } from './point-table.ts';
import { pointOverheadBytes } from './shard-file.ts';

/**
 * Does the operations in order, inside a transaction. What the collection has in memory is noted for when it commits.
 * Throws a FailureError for what does not fit the collection or names an unknown point: the caller rolls back. Returns
 * the bytes that it keeps more, or less.
 */
export function writePoints(
  points: PointTable,
  open: OpenCollection,
  operations: readonly WriteOperation[],
  bounds: CallBounds,
): number {
  const { cid, size, memory, slots } = open;
  const pointBytes = size * Float32Array.BYTES_PER_ELEMENT + pointOverheadBytes;
  let bytes = 0;
  const { distance } = open.row.spec;

  function upsert(batch: PointBatch): void {
    if (batch.vectors.length !== batch.ids.length * size) {
      throw new FailureError(
        invalid('points', `points: expected ${size} numbers a vector, got ${batch.vectors.length / batch.ids.length}`),
      );
    }
    const vectors = distance === 'Cosine' ? normalised(batch.vectors, size) : batch.vectors;
    batch.ids.forEach((id, i) => {
      const vector = vectors.subarray(i * size, (i + 1) * size);
      const payload = batch.payloads[i] ?? null;
      const known = points.slotOfId(cid, id);
      bytes += bytesOf(payload);
      if (known !== null) {
        bytes -= points.payloadBytes(cid, known);
        points.replace(cid, known, id, payload, vector);
        memory.note({ kind: 'put', slot: known, vector, payload });
        return;
      }
      bytes += pointBytes;
      const slot = slots.take();
      if (slot > slotMax) throw new FailureError(invalid('points', `a collection holds ${slotMax + 1} points at most`));
      points.insert(cid, slot, id, payload, vector);
      open.row.points++;
      memory.note({ kind: 'put', slot, vector, payload });
    });
  }

  function remove(slot: number): void {
    takePoint();
    bytes -= pointBytes + points.payloadBytes(cid, slot);
    points.remove(cid, slot);
    slots.give(slot);
    open.row.points--;
    memory.note({ kind: 'remove', slot });
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
      memory.note({ kind: 'put', slot, payload });
    }
  }

  function updateVectors(ids: readonly PointId[], given: Float32Array): void {
    if (given.length !== ids.length * size) {
      throw new FailureError(invalid('points', `points: expected ${size} numbers a vector`));
    }
    const vectors = distance === 'Cosine' ? normalised(given, size) : given;
    ids.forEach((id, i) => {
      const slot = points.slotOfId(cid, id);
      if (slot === null) throw noPoint(id);
      const vector = vectors.subarray(i * size, (i + 1) * size);
      points.setVector(cid, slot, vector);
      memory.note({ kind: 'put', slot, vector });
    });
  }

  for (const operation of operations) {
    open.row.seq++;
    switch (operation.kind) {
      case 'upsert':
        upsert(operation.points);
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
        updateVectors(operation.ids, operation.vectors);
        break;
    }
  }
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

/** As Qdrant's: what is 0, or 1 already, stays as it is. */
const lengthTolerance = 1e-6;

/** Rows scaled to length 1, in memory of their own. */
function normalised(vectors: Float32Array, size: number): Float32Array {
  const scaled = new Float32Array(vectors);
  for (let start = 0; start < scaled.length; start += size) {
    let squares = 0;
    for (let i = start; i < start + size; i++) squares += scaled[i]! * scaled[i]!;
    if (squares < 2 ** -23 || Math.abs(squares - 1) <= lengthTolerance) continue;
    const factor = 1 / Math.sqrt(squares);
    for (let i = start; i < start + size; i++) scaled[i] = scaled[i]! * factor;
  }
  return scaled;
}

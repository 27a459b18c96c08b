import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { parseExact } from '../exact-json.ts';
import { deleteByPath, mergePayload } from '../filter/payload-change.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointId } from '../point.ts';
import { payloadCharsMax } from '../vector-refusals.ts';
import type { WriteOperation } from '../vector-store.ts';
import type { CallBounds } from './call-bounds.ts';
import type { OpenCollection } from './open-collection.ts';
import type { VectorTables } from './vector-rows.ts';

export type PayloadOperation = Extract<
  WriteOperation,
  { kind: 'set-payload' | 'overwrite-payload' | 'delete-payload' | 'clear-payload' }
>;

/** Gives the new payload of the old one, in place or not; null: none. */
type PayloadChange = (payload: JsonObject) => JsonObject | null;

/** Throws a FailureError (400) for a payload or a path that is none. */
export function payloadChange(operation: PayloadOperation): PayloadChange {
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
export class PayloadWriter {
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

export function payloadBytes(payload: string | null): number {
  return payload === null ? 0 : Buffer.byteLength(payload);
}

function objectOf(text: string): JsonObject {
  const value = parseExact(text);
  if (!isObject(value)) throw new FailureError(invalid('payload', 'payload: expected an object'));
  return value;
}

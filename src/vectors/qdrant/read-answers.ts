import { FailureError } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type CollectionSpec, type VectorSpec, vectorSpecOf } from '../collection.ts';
import type { PointId, ScoredPoint, StoredPoint, VectorValue, Want } from '../point.ts';
import { generationKey, idKey, keyInPayload, payloadKey } from './partition.ts';

/** Members to request from Qdrant for what the caller wants: always its id, too. */
export function selectorOf(want: Want): { with_payload: unknown; with_vector: Want['vector'] } {
  return { with_payload: payloadSelector(want.payload), with_vector: want.vector };
}

function payloadSelector(payload: Want['payload']): unknown {
  if (typeof payload === 'boolean') return payload ? [idKey, payloadKey] : [idKey];
  if ('include' in payload) return [idKey, ...payload.include.map(keyInPayload)];
  return { exclude: [generationKey, ...payload.exclude.map(keyInPayload)] };
}

/** A list in an answer. Throws `overloaded` for an answer that Qdrant never gives. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : strange();
}

export function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : strange();
}

export function numberIn(value: unknown): number {
  return typeof value === 'number' ? value : strange();
}

/** A point with the caller's id and payload. */
export function storedPoint(value: unknown, want: Want, spec: CollectionSpec): StoredPoint {
  const point = objectIn(value);
  const whole = objectIn(point.payload);
  const payload = whole[payloadKey];
  return {
    id: idIn(whole),
    ...(want.payload !== false && { payload: isObject(payload) ? payload : null }),
    ...(want.vector !== false && vectorsIn(point.vector, spec)),
  };
}

export function scoredPoint(value: unknown, want: Want, spec: CollectionSpec): ScoredPoint {
  return { ...storedPoint(value, want, spec), score: numberIn(objectIn(value).score) };
}

/** A single unnamed vector is shown bare, several in an object. */
function vectorsIn(value: unknown, spec: CollectionSpec): Pick<StoredPoint, 'vector' | 'named'> {
  const byName = isObject(value) ? Object.entries(value) : Array.isArray(value) ? [['', value] as const] : [];
  const read: { vector: Float32Array | null; named?: Record<string, VectorValue> } = { vector: null };
  const named: [string, VectorValue][] = [];
  for (const [name, one] of byName) {
    const known = vectorSpecOf(spec, name);
    if (known === null) continue;
    if (name === '' && known.kind === 'dense') read.vector = numbersIn(one);
    else named.push([name, valueIn(one, known)]);
  }
  return named.length === 0 ? read : { ...read, named: Object.fromEntries(named) };
}

function valueIn(value: unknown, spec: VectorSpec): VectorValue {
  if (spec.kind === 'dense') return numbersIn(value);
  if (spec.kind === 'sparse') {
    const { indices, values } = objectIn(value);
    return { indices: Uint32Array.from(listIn(indices) as number[]), values: numbersIn(values) };
  }
  const rows = listIn(value);
  return { rows: rows.length, numbers: Float32Array.from(rows.flatMap((row) => listIn(row) as number[])) };
}

function numbersIn(value: unknown): Float32Array {
  return Float32Array.from(listIn(value) as number[]);
}

/** The caller's id of a point that was asked for with its payload's id. */
function idIn(payload: JsonObject): PointId {
  const id = payload[idKey];
  return typeof id === 'number' || typeof id === 'string' ? id : strange();
}

function strange(): never {
  const message = 'The vector store cannot serve right now, because Qdrant sent an unknown answer. Retry it.';
  throw new FailureError({ kind: 'overloaded', message });
}

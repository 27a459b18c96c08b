import { FailureError } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { PointId, ScoredPoint, StoredPoint, Want } from '../point.ts';
import { generationKey, idKey, keyInPayload, payloadKey } from './partition.ts';

/** What is asked of Qdrant for what the caller wants of each point: always its id too. */
export function selectorOf(want: Want): { with_payload: unknown; with_vector: boolean } {
  return { with_payload: payloadSelector(want.payload), with_vector: want.vector };
}

function payloadSelector(payload: Want['payload']): unknown {
  if (typeof payload === 'boolean') return payload ? [idKey, payloadKey] : [idKey];
  if ('include' in payload) return [idKey, ...payload.include.map(keyInPayload)];
  return { exclude: [generationKey, ...payload.exclude.map(keyInPayload)] };
}

/** A list in an answer. Throws `overloaded` for what Qdrant never answers. */
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
export function storedPoint(value: unknown, want: Want): StoredPoint {
  const point = objectIn(value);
  const whole = objectIn(point.payload);
  const payload = whole[payloadKey];
  return {
    id: idIn(whole),
    ...(want.payload !== false && { payload: isObject(payload) ? payload : null }),
    ...(want.vector && { vector: Float32Array.from(listIn(point.vector) as number[]) }),
  };
}

export function scoredPoint(value: unknown, want: Want): ScoredPoint {
  return { ...storedPoint(value, want), score: numberIn(objectIn(value).score) };
}

/** The caller's id of a point that was asked for with its payload's id. */
function idIn(payload: JsonObject): PointId {
  const id = payload[idKey];
  return typeof id === 'number' || typeof id === 'string' ? id : strange();
}

function strange(): never {
  const message = 'The vector store cannot serve right now: Qdrant answered what Qdrant does not. Retry it.';
  throw new FailureError({ kind: 'overloaded', message });
}

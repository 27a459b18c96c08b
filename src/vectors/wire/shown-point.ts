import type { ScoredPoint, StoredPoint } from '../point.ts';
import { shortestFloat } from './shortest-float.ts';

/** A point as `retrieve` and `scroll` show it: what was asked for, and `{}` for a payload that is not there. */
export function shownPoint({ id, payload, vector }: StoredPoint): object {
  return {
    id,
    ...(payload !== undefined && { payload: payload ?? {} }),
    ...(vector !== undefined && { vector: vector === null ? null : numbersOf(vector) }),
  };
}

/** A found point. Points have no versions here. */
export function shownScored(point: ScoredPoint): object {
  const { orderValue } = point;
  const scored = { ...shownPoint(point), version: 0, score: shortestFloat(point.score) };
  return orderValue === undefined ? scored : { ...scored, order_value: orderValue };
}

function numbersOf(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let i = 0; i < vector.length; i++) numbers[i] = shortestFloat(vector[i]!);
  return numbers;
}

import { isObject, type JsonObject } from '../../kernel/json.ts';
import { payloadSelector } from '../filter/payload-select.ts';
import type { StoredPoint, Want } from '../point.ts';
import type { OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import { DamagedRows } from './storage-trouble.ts';

/** Reads a point back as it is wanted. */
export type PointReader = (slot: number) => StoredPoint;

export function pointReader(points: PointTable, { cid, size }: OpenCollection, want: Want): PointReader {
  const select = payloadSelector(want.payload);
  return (slot) => {
    const { id, payload } = points.row(cid, slot);
    const point: StoredPoint = { id };
    if (select !== null) point.payload = payload === null ? null : select(parsePayload(payload));
    if (want.vector) point.vector = points.vector(cid, slot, size);
    return point;
  };
}

export function parsePayload(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new DamagedRows('a payload');
  return value;
}

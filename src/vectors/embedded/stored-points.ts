import { isObject, type JsonObject } from '../../kernel/json.ts';
import { payloadSelector } from '../filter/payload-select.ts';
import type { StoredPoint, Want } from '../point.ts';
import type { AnswerBudget } from './answer-budget.ts';
import type { OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import { DamagedRows } from './storage-trouble.ts';

/** Reads a point back as it is wanted. Throws a FailureError (400) when the call's budget is spent. */
export type PointReader = (slot: number) => StoredPoint;

export function pointReader(
  points: PointTable,
  { cid, size }: OpenCollection,
  want: Want,
  budget: AnswerBudget,
): PointReader {
  const select = payloadSelector(want.payload);
  const whole = want.payload === true;
  return (slot) => {
    const { id, payload } = points.row(cid, slot);
    const point: StoredPoint = { id };
    budget.read(payload?.length ?? 0);
    if (select !== null && payload !== null) {
      if (whole) budget.keep(Buffer.byteLength(payload));
      const selected = select(parsePayload(payload));
      if (!whole) budget.keep(Buffer.byteLength(JSON.stringify(selected)));
      point.payload = selected;
    } else if (select !== null) {
      point.payload = null;
    }
    if (want.vector) {
      budget.keepNumbers(size);
      point.vector = points.vector(cid, slot, size);
    }
    return point;
  };
}

function parsePayload(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new DamagedRows('a payload');
  return value;
}

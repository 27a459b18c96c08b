import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { parseExact } from '../../exact-json.ts';
import { payloadSelector } from '../../filter/payload-select.ts';
import type { StoredPoint, VectorValue, Want } from '../../point.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointRow } from '../point-table.ts';
import { DamagedRows } from '../storage-trouble.ts';
import type { VectorRows } from '../vector-rows.ts';
import { vectorBytes } from '../vector-values.ts';
import type { AnswerBudget } from './answer-budget.ts';

/** Reads the wanted parts of a point, whose row `row` gives. Throws a FailureError (400) when the call's budget is spent. */
export type PointReader = (slot: number) => StoredPoint;

export function pointReader(
  row: (slot: number) => PointRow,
  vectors: OpenCollection['vectors'],
  want: Want,
  budget: AnswerBudget,
): PointReader {
  const select = payloadSelector(want.payload);
  const whole = want.payload === true;
  const vectorRows = selectedVectors(vectors, want.vector);
  return (slot) => {
    const { id, payload } = row(slot);
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
    if (want.vector !== false) addVectors(point, slot, vectorRows, budget);
    return point;
  };
}

/** Names that the collection has not are passed over. */
function selectedVectors(vectors: OpenCollection['vectors'], want: Want['vector']): readonly VectorRows[] {
  if (want === false) return [];
  return [...vectors.values()].filter(({ name }) => want === true || want.includes(name));
}

function addVectors(point: StoredPoint, slot: number, selected: readonly VectorRows[], budget: AnswerBudget): void {
  const named: [string, VectorValue][] = [];
  point.vector = null;
  for (const { name, spec, value: read } of selected) {
    const value = read(slot);
    if (value === null) continue;
    budget.keepNumbers(vectorBytes(value) / Float32Array.BYTES_PER_ELEMENT);
    if (name === '' && spec.kind === 'dense') point.vector = value as Float32Array;
    else named.push([name, value]);
  }
  if (named.length > 0) point.named = Object.fromEntries(named);
}

function parsePayload(text: string): JsonObject {
  const value = parseExact(text);
  if (!isObject(value)) throw new DamagedRows('a payload');
  return value;
}

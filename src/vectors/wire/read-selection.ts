import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { isObject } from '../../kernel/json.ts';
import { readFilter } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, refuse } from '../filter/refuse.ts';
import { readPointId } from '../point-id.ts';
import type { Selection, WriteOperation } from '../vector-store.ts';
import { type PointBudget, payloadJson, refuseShardKey, takePoints } from './read-points.ts';
import { optional, readList } from './read-scalars.ts';

/** Payload keys that one operation removes. */
const deletedKeysMax = 1_000;

/** `points` (ids) or `filter` of a body, one of them; `at` as in `operations[2].delete.`, '' at the top. */
export function readSelection(body: JsonObject, at: string, budget: PointBudget): Selection {
  refuseShardKey(body, at);
  const { points, filter } = body;
  if (!optional(points) && !optional(filter)) refuse(`${at}filter`, 'give points or filter, not both');
  if (!optional(filter)) return { filter: readFilter(filter, `${at}filter`) };
  if (optional(points)) refuse(`${at}points`, 'is missing: give the ids of points, or a filter');
  const ids = readList(points, `${at}points`, { min: 0, max: Number.POSITIVE_INFINITY }, readPointId);
  takePoints(ids.length, `${at}points`, budget);
  return { ids };
}

export function readSetPayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  const which = readSelection(body, at, budget);
  const payload = readPayloadText(body.payload, `${at}payload`);
  const key = optional(body.key) ? null : readKeyPath(body.key, `${at}key`).text;
  return { kind: 'set-payload', which, payload, key };
}

export function readOverwritePayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  if (!optional(body.key)) refuse(`${at}key`, 'replaces the whole payload; to set a part of it, use POST');
  return {
    kind: 'overwrite-payload',
    which: readSelection(body, at, budget),
    payload: readPayloadText(body.payload, `${at}payload`),
  };
}

export function readDeletePayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  const which = readSelection(body, at, budget);
  const keys = readList(body.keys, `${at}keys`, { min: 1, max: deletedKeysMax }, readKeyPath).map(({ text }) => text);
  return { kind: 'delete-payload', which, keys };
}

function readPayloadText(value: JsonValue | undefined, at: string): string {
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  return payloadJson(value, at);
}

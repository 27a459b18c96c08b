import type { JsonObject } from '../../kernel/json.ts';
import type { Filter } from '../filter/filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { readObject, refuse } from '../filter/refuse.ts';
import type { PointId, Want } from '../point.ts';
import { readPointId } from '../point-id.ts';
import type { FacetQuery, ScrollQuery } from '../vector-store.ts';
import { refuseShardKey } from './read-points.ts';
import { pointsTotalMax, readOptionalFilter } from './read-query.ts';
import { optional, readBoolean, readList, readWhole } from './read-scalars.ts';
import { readOrderBy } from './read-target.ts';
import { readWant, wantKeys } from './read-want.ts';

const limitDefault = 10;

export function readRetrieve(json: JsonObject): { ids: readonly PointId[]; want: Want } {
  const body = readObject(json, 'body', ['ids', ...wantKeys, 'shard_key']);
  refuseShardKey(body, '');
  return {
    ids: readList(body.ids, 'ids', { min: 0, max: pointsTotalMax }, readPointId),
    want: readWant(body, '', { payload: true }),
  };
}

export function readScroll(json: JsonObject): ScrollQuery {
  const body = readObject(json, 'body', ['offset', 'limit', 'filter', ...wantKeys, 'order_by', 'shard_key']);
  refuseShardKey(body, '');
  const orderBy = optional(body.order_by) ? null : readOrderBy(body.order_by, 'order_by');
  if (orderBy !== null && !optional(body.offset)) {
    refuse('offset', 'does not work with order_by. Use order_by.start_from');
  }
  return {
    filter: readOptionalFilter(body, ''),
    limit: optional(body.limit) ? limitDefault : readWhole(body.limit, 'limit', 1, pointsTotalMax),
    offset: optional(body.offset) ? null : readPointId(body.offset, 'offset'),
    orderBy,
    want: readWant(body, '', { payload: true }),
  };
}

/** Counts are always exact. */
export function readCount(json: JsonObject): Filter | null {
  const body = readObject(json, 'body', ['filter', 'exact', 'shard_key']);
  refuseShardKey(body, '');
  if (!optional(body.exact)) readBoolean(body.exact, 'exact');
  return readOptionalFilter(body, '');
}

export function readFacet(json: JsonObject): FacetQuery {
  const body = readObject(json, 'body', ['key', 'limit', 'filter', 'exact', 'shard_key']);
  refuseShardKey(body, '');
  if (!optional(body.exact)) readBoolean(body.exact, 'exact');
  return {
    key: readKeyPath(body.key, 'key').text,
    filter: readOptionalFilter(body, ''),
    limit: optional(body.limit) ? limitDefault : readWhole(body.limit, 'limit', 1, pointsTotalMax),
  };
}

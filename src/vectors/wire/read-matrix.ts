import type { JsonObject } from '../../kernel/json.ts';
import { vectorOf } from '../check-vector.ts';
import type { CollectionSpec } from '../collection.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { NeighbourQuery } from '../vector-store.ts';
import { refuseShardKey } from './read-points.ts';
import { pointsTotalMax, readOptionalFilter } from './read-query.ts';
import { optional, readWhole } from './read-scalars.ts';

/** Points that are compared with each other: the cost is their square. */
const sampleMax = 1_000;
const sampleDefault = 10;
const limitDefault = 3;

/** `{filter, sample, limit, using}`: the `limit` nearest of each of `sample` points, among these. */
export function readMatrix(json: JsonObject, spec: CollectionSpec): NeighbourQuery {
  const body = readObject(json, 'body', ['filter', 'sample', 'limit', 'using', 'shard_key']);
  refuseShardKey(body, '');
  const sample = optional(body.sample) ? sampleDefault : readWhole(body.sample, 'sample', 2, sampleMax);
  const limit = optional(body.limit) ? limitDefault : readWhole(body.limit, 'limit', 1, sampleMax);
  if (sample * limit > pointsTotalMax) {
    refuse('limit', `at most ${pointsTotalMax} pairs a call (sample × limit), got ${sample * limit}`);
  }
  const using = optional(body.using) ? '' : body.using;
  if (typeof using !== 'string') refuse('using', `expected the name of a vector, got ${kindOf(using)}`);
  vectorOf(spec, using, 'using');
  return { filter: readOptionalFilter(body, ''), sample, limit, using };
}

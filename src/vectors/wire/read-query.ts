import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { isObject } from '../../kernel/json.ts';
import type { Filter } from '../filter/filter.ts';
import { readFilter } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { readObject, refuse } from '../filter/refuse.ts';
import type { GroupQuery, PointQuery, Target } from '../store.ts';
import { refuseShardKey } from './read-points.ts';
import { optional, readBoolean, readFinite, readList, readWhole } from './read-scalars.ts';
import { nearest, readRecommend, readTarget } from './read-target.ts';
import { readWant } from './read-want.ts';
import { refuseUnsupported } from './unsupported.ts';
import type { VectorReader } from './vector-reader.ts';

/** Points that one call may ask for, all of its queries together. */
export const pointsAskedMax = 100_000;
/** Points that are passed over before the first that is answered. */
const offsetMax = 1_000_000;
/** Queries in one batch. */
const queriesMax = 1_000;
const limitDefault = 10;
const groupSizeDefault = 3;

/** Which of Qdrant's endpoints the body is for. */
export type QueryDialect = 'search' | 'recommend' | 'query';

const sharedKeys = ['filter', 'params', 'score_threshold', 'with_payload', 'with_vector', 'shard_key'];
const pageKeys = ['limit', 'offset'];
const groupKeys = ['group_by', 'group_size', 'limit', 'with_lookup'];
const modelKeys = ['model', 'embedding_model'];
const dialectKeys = {
  search: ['vector', 'text'],
  recommend: ['positive', 'negative', 'strategy', 'using', 'lookup_from'],
  query: ['query', 'text', 'prefetch', 'using', 'lookup_from'],
} as const satisfies Record<QueryDialect, readonly string[]>;

/** `at` as in `searches[2].`, '' for a body that is one query itself, which may name the model of its texts. */
export function readQuery(json: JsonValue, dialect: QueryDialect, at: string, vectors: VectorReader): PointQuery {
  const old = dialect === 'query' ? [] : ['top'];
  const keys = [...dialectKeys[dialect], ...sharedKeys, ...pageKeys, ...old, ...(at === '' ? modelKeys : [])];
  const body = readObject(json, at === '' ? 'body' : at.slice(0, -1), keys);
  const [limitKey, limitValue] = dialect !== 'query' && !optional(body.top) ? ['top', body.top] : ['limit', body.limit];
  const limit = optional(limitValue) ? limitDefault : readWhole(limitValue, at + limitKey, 1, pointsAskedMax);
  return {
    ...readShared(body, dialect, at, limit, vectors),
    limit,
    offset: optional(body.offset) ? 0 : readWhole(body.offset, `${at}offset`, 0, offsetMax),
  };
}

/** `{searches: [query…]}`. */
export function readQueries(body: JsonObject, dialect: QueryDialect, vectors: VectorReader): PointQuery[] {
  const { searches } = readObject(body, 'body', ['searches', ...modelKeys]);
  const queries = readList(searches, 'searches', { min: 1, max: queriesMax }, (item, at) =>
    readQuery(item, dialect, `${at}.`, vectors),
  );
  const asked = queries.reduce((sum, { limit }) => sum + limit, 0);
  if (asked > pointsAskedMax)
    refuse('searches', `at most ${pointsAskedMax} points a call (the sum of limit), got ${asked}`);
  return queries;
}

export function readGroupQuery(json: JsonObject, dialect: QueryDialect, vectors: VectorReader): GroupQuery {
  const body = readObject(json, 'body', [...dialectKeys[dialect], ...sharedKeys, ...groupKeys, ...modelKeys]);
  if (!optional(body.with_lookup)) {
    refuseUnsupported('with_lookup', 'looking up groups in another collection is', 'retrieve their points by id');
  }
  const groups = optional(body.limit) ? limitDefault : readWhole(body.limit, 'limit', 1, pointsAskedMax);
  const groupSize = optional(body.group_size)
    ? groupSizeDefault
    : readWhole(body.group_size, 'group_size', 1, pointsAskedMax);
  if (groups * groupSize > pointsAskedMax) {
    refuse('group_size', `at most ${pointsAskedMax} points a call (limit × group_size), got ${groups * groupSize}`);
  }
  return {
    ...readShared(body, dialect, '', groups * groupSize, vectors),
    groupBy: readKeyPath(body.group_by, 'group_by').text,
    groups,
    groupSize,
  };
}

export function readOptionalFilter(body: JsonObject, at: string): Filter | null {
  return optional(body.filter) ? null : readFilter(body.filter, `${at}filter`);
}

function readShared(
  body: JsonObject,
  dialect: QueryDialect,
  at: string,
  limit: number,
  vectors: VectorReader,
): Omit<PointQuery, 'limit' | 'offset'> {
  refuseShardKey(body, at);
  refuseElsewhere(body, at);
  return {
    target: readDialectTarget(body, dialect, at, limit, vectors),
    filter: readOptionalFilter(body, at),
    scoreThreshold: optional(body.score_threshold) ? null : readFinite(body.score_threshold, `${at}score_threshold`),
    exact: readExact(body.params, `${at}params`),
    want: readWant(body, at, { payload: false }),
  };
}

function readDialectTarget(
  body: JsonObject,
  dialect: QueryDialect,
  at: string,
  limit: number,
  vectors: VectorReader,
): Target {
  if (dialect === 'recommend') return readRecommend(body, at, vectors);
  const field = dialect === 'search' ? 'vector' : 'query';
  if (!optional(body.text)) {
    if (!optional(body[field])) refuse(`${at}text`, `give text or ${field}, not both`);
    return nearest(vectors.readSource(vectors.text(body.text, `${at}text`), `${at}text`));
  }
  if (dialect === 'query') return readTarget(body.query, `${at}query`, limit, vectors);
  if (optional(body.vector)) refuse(`${at}vector`, 'is missing: give a vector, or a text to embed in text');
  return nearest(vectors.read(withoutName(body.vector, `${at}vector`), `${at}vector`));
}

/** Of `{name, vector}`, the vector. */
function withoutName(value: JsonValue, at: string): JsonValue {
  if (!isObject(value) || !('name' in value)) return value;
  const { name, vector } = readObject(value, at, ['name', 'vector']);
  if (name !== '') refuseUnsupported(`${at}.name`, 'named vectors are', 'send the vector itself');
  return vector ?? null;
}

function refuseElsewhere(body: JsonObject, at: string): void {
  const { prefetch, using, lookup_from: lookup } = body;
  if (!optional(prefetch) && !(Array.isArray(prefetch) && prefetch.length === 0)) {
    refuseUnsupported(`${at}prefetch`, 'prefetches are', 'send the queries with query/batch, and merge their answers');
  }
  if (!optional(using) && using !== '') {
    refuseUnsupported(`${at}using`, 'named vectors are', 'leave it out: a point has one vector');
  }
  if (!optional(lookup)) {
    refuseUnsupported(`${at}lookup_from`, 'vectors of another collection are', 'retrieve them, and send them');
  }
}

/** Of `params`, exact alone means something here. */
function readExact(value: JsonValue | undefined, at: string): boolean {
  if (optional(value)) return false;
  const {
    exact,
    hnsw_ef: ef,
    indexed_only: indexed,
  } = readObject(value, at, ['exact', 'hnsw_ef', 'indexed_only', 'quantization', 'acorn']);
  if (!optional(ef)) readWhole(ef, `${at}.hnsw_ef`, 0, Number.MAX_SAFE_INTEGER);
  if (!optional(indexed)) readBoolean(indexed, `${at}.indexed_only`);
  return optional(exact) ? false : readBoolean(exact, `${at}.exact`);
}

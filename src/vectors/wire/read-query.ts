import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { Filter } from '../filter/filter.ts';
import { readFilter } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { GroupQuery, Lookup, PointQuery, Prefetch, Target } from '../vector-store.ts';
import { readName } from './read-collection.ts';
import { refuseShardKey } from './read-points.ts';
import { optional, readBoolean, readFinite, readList, readWhole } from './read-scalars.ts';
import { type Compared, nearest, readRecommend, readTarget } from './read-target.ts';
import { readWant, wantKeys } from './read-want.ts';
import { refuseUnsupported } from './unsupported.ts';
import type { VectorReader } from './vector-reader.ts';

/** Points that one call may ask for, all of its queries together. */
export const pointsTotalMax = 100_000;
/** Points that are passed over before the first that is answered. */
const offsetMax = 1_000_000;
/** Queries in one batch. */
const queriesMax = 1_000;
const limitDefault = 10;
const groupSizeDefault = 3;

/** Qdrant's endpoint of the body. */
export type QueryDialect = 'search' | 'recommend' | 'query';

const sharedKeys = ['filter', 'params', 'score_threshold', ...wantKeys, 'shard_key'];
const pageKeys = ['limit', 'offset'];
const groupKeys = ['group_by', 'group_size', 'limit', 'with_lookup'];
const modelKeys = ['model', 'embedding_model'];
/** For a body that is one query itself. */
const wholeKeys = [...modelKeys, 'rerank'];
const dialectKeys = {
  search: ['vector', 'text', 'using'],
  recommend: ['positive', 'negative', 'strategy', 'using', 'lookup_from'],
  query: ['query', 'text', 'prefetch', 'using', 'lookup_from'],
} as const satisfies Record<QueryDialect, readonly string[]>;

const prefetchDepthMax = 16;
/** Prefetches of one query, those within others too. */
const prefetchesMax = 64;

/**
 * `at` as in `searches[2].`, '' for a body that is one query itself, which may name the model of its texts, and one that
 * ranks anew (`readRerank`).
 */
export function readQuery(json: JsonValue, dialect: QueryDialect, at: string, vectors: VectorReader): PointQuery {
  const old = dialect === 'query' ? [] : ['top'];
  const keys = [...dialectKeys[dialect], ...sharedKeys, ...pageKeys, ...old, ...(at === '' ? wholeKeys : [])];
  const body = readObject(json, at === '' ? 'body' : at.slice(0, -1), keys);
  const [limitKey, limitValue] = dialect !== 'query' && !optional(body.top) ? ['top', body.top] : ['limit', body.limit];
  const limit = optional(limitValue) ? limitDefault : readWhole(limitValue, at + limitKey, 1, pointsTotalMax);
  const shared = readShared(body, dialect, at, limit, vectors);
  const offset = optional(body.offset) ? 0 : readWhole(body.offset, `${at}offset`, 0, offsetMax);
  // Points by chance have no first ones to be passed over; those of a prefetch have, as in Qdrant.
  const isChance = shared.target.kind === 'sample' && shared.prefetch === undefined;
  return { ...shared, limit, offset: isChance ? 0 : offset };
}

/** `{searches: [query…]}`. */
export function readQueries(body: JsonObject, dialect: QueryDialect, vectors: VectorReader): PointQuery[] {
  const { searches } = readObject(body, 'body', ['searches', ...modelKeys]);
  const queries = readList(searches, 'searches', { min: 0, max: queriesMax }, (item, at) =>
    readQuery(item, dialect, `${at}.`, vectors),
  );
  const total = queries.reduce((sum, { limit }) => sum + limit, 0);
  if (total > pointsTotalMax)
    refuse('searches', `at most ${pointsTotalMax} points a call (the sum of limit), got ${total}`);
  return queries;
}

export function readGroupQuery(json: JsonObject, dialect: QueryDialect, vectors: VectorReader): GroupQuery {
  const body = readObject(json, 'body', [...dialectKeys[dialect], ...sharedKeys, ...groupKeys, ...modelKeys]);
  const groups = optional(body.limit) ? limitDefault : readWhole(body.limit, 'limit', 1, pointsTotalMax);
  const groupSize = optional(body.group_size)
    ? groupSizeDefault
    : readWhole(body.group_size, 'group_size', 1, pointsTotalMax);
  if (groups * groupSize > pointsTotalMax) {
    refuse('group_size', `at most ${pointsTotalMax} points a call (limit × group_size), got ${groups * groupSize}`);
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
  const prefetch = readPrefetches(body.prefetch, `${at}prefetch`, vectors, { left: prefetchesMax, depth: 1 });
  return {
    ...readSearch(body, dialect, at, limit, vectors),
    ...(prefetch.length > 0 && { prefetch }),
    want: readWant(body, at, { payload: false }),
  };
}

/** Common parts of a query and a prefetch. */
function readSearch(
  body: JsonObject,
  dialect: QueryDialect,
  at: string,
  limit: number,
  vectors: VectorReader,
): Omit<Prefetch, 'limit' | 'prefetch'> {
  const using = usingOf(body, dialect, at);
  const from = readLookup(body.lookup_from, `${at}lookup_from`, using);
  if (from !== null) vectors.lookIn(from.collection, `${at}lookup_from.collection`);
  const compared = { using, from };
  return {
    target: readDialectTarget(body, dialect, at, limit, compared, vectors),
    ...(using !== '' && { using }),
    filter: readOptionalFilter(body, at),
    scoreThreshold: optional(body.score_threshold) ? null : readFinite(body.score_threshold, `${at}score_threshold`),
    exact: readExact(body.params, `${at}params`),
  };
}

interface PrefetchBudget {
  left: number;
  depth: number;
}

/** One prefetch, or an array of them. */
function readPrefetches(
  value: JsonValue | undefined,
  at: string,
  vectors: VectorReader,
  budget: PrefetchBudget,
): Prefetch[] {
  if (optional(value)) return [];
  if (budget.depth > prefetchDepthMax) refuse(at, `prefetches nest at most ${prefetchDepthMax} deep`);
  if (!Array.isArray(value)) return [readPrefetch(value, at, vectors, budget)];
  return value.map((one, i) => readPrefetch(one, `${at}[${i}]`, vectors, budget));
}

function readPrefetch(json: JsonValue, at: string, vectors: VectorReader, budget: PrefetchBudget): Prefetch {
  if (--budget.left < 0) refuse(at, `at most ${prefetchesMax} prefetches a query`);
  const body = readObject(json, at, [...dialectKeys.query, 'filter', 'params', 'score_threshold', 'limit']);
  const limit = optional(body.limit) ? limitDefault : readWhole(body.limit, `${at}.limit`, 1, pointsTotalMax);
  budget.depth++;
  const prefetch = readPrefetches(body.prefetch, `${at}.prefetch`, vectors, budget);
  budget.depth--;
  return { ...readSearch(body, 'query', `${at}.`, limit, vectors), ...(prefetch.length > 0 && { prefetch }), limit };
}

/** Name of the vector that is compared, '' the unnamed one. */
function usingOf(body: JsonObject, dialect: QueryDialect, at: string): string {
  const named = dialect === 'search' && isObject(body.vector) && 'name' in body.vector;
  const [value, place] = named ? [(body.vector as JsonObject).name, `${at}vector.name`] : [body.using, `${at}using`];
  if (optional(value)) return '';
  if (typeof value !== 'string') refuse(place, `expected the name of a vector, got ${kindOf(value)}`);
  return value;
}

function readDialectTarget(
  body: JsonObject,
  dialect: QueryDialect,
  at: string,
  limit: number,
  compared: Compared,
  vectors: VectorReader,
): Target {
  const { using } = compared;
  if (dialect === 'recommend') return readRecommend(body, at, vectors, compared);
  const field = dialect === 'search' ? 'vector' : 'query';
  if (!optional(body.text)) {
    if (!optional(body[field])) refuse(`${at}text`, `give text or ${field}, not both`);
    return nearest(vectors.readSource(vectors.text(body.text, `${at}text`, using), `${at}text`, using));
  }
  if (dialect === 'query') return readTarget(body.query, `${at}query`, limit, vectors, compared);
  if (optional(body.vector)) refuse(`${at}vector`, 'is missing: give a vector, or a text to embed in text');
  return nearest(vectors.read(withoutName(body.vector, `${at}vector`), `${at}vector`, using));
}

/** The vector of `{name, vector}`. */
function withoutName(value: JsonValue, at: string): JsonValue {
  if (!isObject(value) || !('name' in value)) return value;
  return readObject(value, at, ['name', 'vector']).vector ?? null;
}

/** `{collection, vector}`: where points are that the query names; `vector` left out is the one that is compared. */
function readLookup(value: JsonValue | undefined, at: string, using: string): Lookup | null {
  if (optional(value)) return null;
  const { collection, vector, shard_key: shard } = readObject(value, at, ['collection', 'vector', 'shard_key']);
  refuseShardKey({ shard_key: shard }, `${at}.`);
  if (!optional(vector) && typeof vector !== 'string') {
    refuse(`${at}.vector`, `expected the name of a vector, got ${kindOf(vector)}`);
  }
  return { collection: readName(collection, `${at}.collection`), vector: optional(vector) ? using : vector };
}

/** Whether a search is exact; no other of `params` has a meaning here. */
function readExact(value: JsonValue | undefined, at: string): boolean {
  if (optional(value)) return false;
  const params = readObject(value, at, ['exact', 'hnsw_ef', 'indexed_only', 'quantization', 'acorn', 'idf']);
  const { exact, hnsw_ef: ef, indexed_only: indexed, idf } = params;
  if (!optional(idf) && idf !== 'global') {
    refuseUnsupported(`${at}.idf`, 'counting how rare terms are in a part of the collection is', 'send "global"');
  }
  if (!optional(ef)) readWhole(ef, `${at}.hnsw_ef`, 0, Number.MAX_SAFE_INTEGER);
  if (!optional(indexed)) readBoolean(indexed, `${at}.indexed_only`);
  return optional(exact) ? false : readBoolean(exact, `${at}.exact`);
}

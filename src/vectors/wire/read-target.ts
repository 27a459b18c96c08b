import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { datetimeMs } from '../filter/datetime.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { readObject, refuse } from '../filter/refuse.ts';
import { readPointId } from '../point-id.ts';
import type { ContextPair, Fusion, Lookup, OrderBy, RecommendStrategy, Target, VectorInput } from '../vector-store.ts';
import { readFormula } from './read-formula.ts';
import { optional, readFinite, readList, readWhole, readWord, shown } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';
import type { VectorReader } from './vector-reader.ts';

/** Examples of one recommendation, good and bad ones together. */
const examplesMax = 1_000;
/** Qdrant's bound. */
const mmrCandidatesMax = 16_384;
const mmrDiversityDefault = 0.5;
/** Qdrant's default. */
const rrfK = 2;
const strategies = ['average_vector', 'best_score', 'sum_scores'] as const satisfies readonly RecommendStrategy[];

/** Kinds of query by the key that tells them. */
const queryKinds = [
  'nearest',
  'recommend',
  'discover',
  'context',
  'fusion',
  'rrf',
  'formula',
  'order_by',
  'sample',
] as const;
/** An object with one of these is in place of a vector. */
const vectorKeys = ['text', 'indices', 'values', 'image', 'object', ''];
const unsupportedKinds: Readonly<Record<string, string>> = {
  relevance_feedback: 'use recommend with positive and negative',
};

/** The vectors to compare, and the place of the points that the query names; null: the collection itself. */
export interface Compared {
  using: string;
  from: Lookup | null;
}

/** `query` of points/query in every form that Qdrant gives it; left out, all points are meant. `limit`: of the query. */
export function readTarget(
  value: JsonValue | undefined,
  at: string,
  limit: number,
  vectors: VectorReader,
  compared: Compared,
): Target {
  if (optional(value)) return { kind: 'all' };
  if (!isObject(value)) return nearest(readVectorInput(value, at, vectors, compared));
  for (const key in value) {
    const fix = directMember(unsupportedKinds, key);
    if (fix !== undefined) refuseUnsupported(`${at}.${key}`, 'this kind of query is', fix);
  }
  const kind = queryKinds.find((key) => key in value);
  if (kind === undefined) {
    if (!vectorKeys.some((key) => key in value)) readObject(value, at, [...queryKinds, 'text']);
    return nearest(readVectorInput(value, at, vectors, compared));
  }
  const inner = `${at}.${kind}`;
  if (kind !== 'formula') readObject(value, at, kind === 'nearest' ? ['nearest', 'mmr'] : [kind]);
  switch (kind) {
    case 'nearest':
      return {
        kind: 'nearest',
        vector: readVectorInput(value.nearest, inner, vectors, compared),
        mmr: optional(value.mmr) ? null : readMmr(value.mmr, `${at}.mmr`, limit),
      };
    case 'recommend':
      return readRecommend(
        readObject(value.recommend, inner, ['positive', 'negative', 'strategy']),
        `${inner}.`,
        vectors,
        compared,
      );
    case 'discover': {
      const { target, context } = readObject(value.discover, inner, ['target', 'context']);
      return {
        kind: 'discover',
        target: readVectorInput(target, `${inner}.target`, vectors, compared),
        context: readContext(context, `${inner}.context`, vectors, compared),
      };
    }
    case 'context':
      return { kind: 'context', context: readContext(value.context, inner, vectors, compared) };
    case 'fusion': {
      const method = readWord(value.fusion, inner, ['rrf', 'dbsf']);
      return { kind: 'fusion', method: method === 'dbsf' ? { kind: 'dbsf' } : { kind: 'rrf', k: rrfK, weights: null } };
    }
    case 'formula':
      return { kind: 'formula', formula: readFormula(value, at) };
    case 'rrf':
      return { kind: 'fusion', method: readRrf(value.rrf, inner) };
    case 'order_by':
      return { kind: 'order-by', order: readOrderBy(value.order_by, inner) };
    case 'sample':
      readWord(value.sample, inner, ['random']);
      return { kind: 'sample' };
  }
}

/** A vector, a text, or the id of a point. */
function readVectorInput(
  value: JsonValue | undefined,
  at: string,
  vectors: VectorReader,
  compared: Compared,
): VectorInput {
  const { using, from } = compared;
  const there = from === null ? {} : { from };
  if (typeof value === 'number') return { id: readPointId(value, at), ...there };
  if (typeof value === 'string') return { id: readIdOfPoint(value, at), ...there };
  return vectors.read(value, at, using);
}

function readContext(
  value: JsonValue | undefined,
  at: string,
  vectors: VectorReader,
  compared: Compared,
): ContextPair[] {
  if (optional(value)) return [];
  const readPair = (json: JsonValue, place: string): ContextPair => {
    const { positive, negative } = readObject(json, place, ['positive', 'negative']);
    return {
      positive: readVectorInput(positive, `${place}.positive`, vectors, compared),
      negative: readVectorInput(negative, `${place}.negative`, vectors, compared),
    };
  };
  if (!Array.isArray(value)) return [readPair(value, at)];
  return readList(value, at, { min: 0, max: examplesMax / 2 }, readPair);
}

function readRrf(value: JsonValue | undefined, at: string): Fusion {
  const { k, weights } = readObject(value, at, ['k', 'weights']);
  return {
    kind: 'rrf',
    k: optional(k) ? rrfK : readWhole(k, `${at}.k`, 1, Number.MAX_SAFE_INTEGER),
    weights: optional(weights) ? null : readList(weights, `${at}.weights`, { min: 0, max: 1_000 }, readWeight),
  };
}

function readWeight(value: JsonValue, at: string): number {
  const weight = readFinite(value, at);
  if (weight < 0) refuse(at, `expected a number from 0 on, got ${weight}`);
  return weight;
}

/** `positive`, `negative` and `strategy` of an object whose path is `at`, such as `query.recommend.`. */
export function readRecommend(body: JsonObject, at: string, vectors: VectorReader, compared: Compared): Target {
  const strategy = optional(body.strategy) ? 'average_vector' : readWord(body.strategy, `${at}strategy`, strategies);
  const positive = readExamples(body.positive, `${at}positive`, vectors, compared);
  const negative = readExamples(body.negative, `${at}negative`, vectors, compared);
  if (positive.length + negative.length > examplesMax) {
    refuse(`${at}negative`, `at most ${examplesMax} examples, good and bad ones together`);
  }
  if (positive.length === 0 && (strategy === 'average_vector' || negative.length === 0)) {
    refuse(
      `${at}positive`,
      `must not be empty${strategy === 'average_vector' ? ' with the strategy average_vector' : ''}`,
    );
  }
  return { kind: 'recommend', positive, negative, strategy };
}

/** A key, or `{key, direction, start_from}`. */
export function readOrderBy(value: JsonValue | undefined, at: string): OrderBy {
  if (typeof value === 'string') return { key: readKeyPath(value, at).text, direction: 'asc', startFrom: null };
  const { key, direction, start_from: from } = readObject(value, at, ['key', 'direction', 'start_from']);
  return {
    key: readKeyPath(key, `${at}.key`).text,
    direction: optional(direction) ? 'asc' : readWord(direction, `${at}.direction`, ['asc', 'desc']),
    startFrom: optional(from) ? null : readStart(from, `${at}.start_from`),
  };
}

export function nearest(vector: VectorInput): Target {
  return { kind: 'nearest', vector, mmr: null };
}

function readExamples(
  value: JsonValue | undefined,
  at: string,
  vectors: VectorReader,
  compared: Compared,
): VectorInput[] {
  if (optional(value)) return [];
  return readList(value, at, { min: 0, max: examplesMax }, (item, place) =>
    readVectorInput(item, place, vectors, compared),
  );
}

function readMmr(value: JsonValue, at: string, limit: number): { diversity: number; candidates: number } {
  const { diversity, candidates_limit: candidates } = readObject(value, at, ['diversity', 'candidates_limit']);
  const share = optional(diversity) ? mmrDiversityDefault : readFinite(diversity, `${at}.diversity`);
  if (share < 0 || share > 1) refuse(`${at}.diversity`, `expected a number from 0 to 1, got ${share}`);
  return {
    diversity: share,
    candidates: optional(candidates)
      ? Math.min(limit, mmrCandidatesMax)
      : readWhole(candidates, `${at}.candidates_limit`, 1, mmrCandidatesMax),
  };
}

/** A string that is not an id was probably meant as a search text. */
function readIdOfPoint(value: string, at: string): string | number {
  try {
    return readPointId(value, at);
  } catch {
    return refuse(
      at,
      `a string must be the id of a point, a UUID, which ${shown(value)} is not. To search by text send {"text": …}`,
    );
  }
}

function readStart(value: JsonValue, at: string): number | string {
  if (typeof value === 'number') return readFinite(value, at);
  if (typeof value === 'string' && datetimeMs(value) !== null) return value;
  return refuse(at, `expected a number or an RFC 3339 time, got ${shown(value)}`);
}

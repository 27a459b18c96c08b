import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { datetimeMs } from '../filter/datetime.ts';
import { geoPointOf } from '../filter/geo.ts';
import { readLoneCondition } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { decayShapes, type Expression, type Formula, oneOperands } from '../formula.ts';
import { readPointId } from '../point-id.ts';
import type { ContextPair, Fusion, Lookup, OrderBy, RecommendStrategy, Target, VectorInput } from '../vector-store.ts';
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
  if ('relevance_feedback' in value)
    refuseUnsupported(`${at}.relevance_feedback`, 'this kind of query is', 'use recommend with positive and negative');
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

/** Parts of one formula. */
const partsMax = 1_000;
const partsOfOneMax = 100;
const midpointDefault = 0.5;
const scaleDefault = 1;

const operators = [
  'mult',
  'sum',
  'div',
  'pow',
  ...oneOperands,
  'geo_distance',
  'datetime',
  'datetime_key',
  ...decayShapes.map((shape) => `${shape}_decay` as const),
] as const;

/** `{formula, defaults}`. Throws a FailureError (400), as all of these. */
export function readFormula(json: JsonObject, at: string): Formula {
  const { formula, defaults } = readObject(json, at, ['formula', 'defaults']);
  const read = readDefaults(defaults, `${at}.defaults`);
  return { expression: readExpression(formula, `${at}.formula`, { left: partsMax }), defaults: read };
}

function readDefaults(value: JsonValue | undefined, at: string): Formula['defaults'] {
  if (optional(value)) return {};
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  const entries = Object.entries(value) as [string, JsonValue][];
  for (const [name] of entries) readVariable(name, `${at}.${name.slice(0, 64)}`);
  return Object.fromEntries(entries);
}

function readExpression(value: JsonValue | undefined, at: string, budget: { left: number }): Expression {
  if (--budget.left < 0) refuse(at, `a formula has at most ${partsMax} parts`);
  if (typeof value === 'number') return { kind: 'constant', value: readFinite(value, at) };
  if (typeof value === 'string') return readVariable(value, at);
  if (!isObject(value)) refuse(at, `expected a number, a variable or an expression, got ${kindOf(value)}`);
  const operator = operators.find((one) => one in value);
  if (operator === undefined) return { kind: 'condition', condition: readLoneCondition(value, at) };
  const inner = `${at}.${operator}`;
  const operand = readObject(value, at, [operator])[operator];
  const read = (one: JsonValue | undefined, place: string) => readExpression(one, place, budget);
  switch (operator) {
    case 'mult':
    case 'sum':
      return { kind: operator, parts: readList(operand, inner, { min: 1, max: partsOfOneMax }, read) };
    case 'div': {
      const { left, right, by_zero_default: byZero } = readObject(operand, inner, ['left', 'right', 'by_zero_default']);
      return {
        kind: 'div',
        left: read(left, `${inner}.left`),
        right: read(right, `${inner}.right`),
        byZero: optional(byZero) ? null : readFinite(byZero, `${inner}.by_zero_default`),
      };
    }
    case 'pow': {
      const { base, exponent } = readObject(operand, inner, ['base', 'exponent']);
      return { kind: 'pow', base: read(base, `${inner}.base`), exponent: read(exponent, `${inner}.exponent`) };
    }
    case 'geo_distance': {
      const { origin, to } = readObject(operand, inner, ['origin', 'to']);
      const point = geoPointOf(origin ?? null);
      if (point === null) refuse(`${inner}.origin`, 'expected {"lat", "lon"}');
      return { kind: 'geo-distance', origin: point, to: readKeyPath(to, `${inner}.to`) };
    }
    case 'datetime': {
      const ms = typeof operand === 'string' ? datetimeMs(operand) : null;
      if (ms === null) refuse(inner, `expected an RFC 3339 time, got ${shown(operand)}`);
      return { kind: 'datetime', text: operand as string, seconds: ms / 1_000 };
    }
    case 'datetime_key':
      return { kind: 'datetime-key', key: readKeyPath(operand, inner) };
    case 'lin_decay':
    case 'exp_decay':
    case 'gauss_decay':
      return readDecay(operator.slice(0, -'_decay'.length) as (typeof decayShapes)[number], operand, inner, read);
    default:
      return { kind: operator, of: read(operand, inner) };
  }
}

/** `$score`, `$score[1]`, or the path of a payload key. */
function readVariable(text: string, at: string): Extract<Expression, { kind: 'score' | 'payload' }> {
  if (!text.startsWith('$')) return { kind: 'payload', key: readKeyPath(text, at) };
  const found = /^\$score(?:\[(\d{1,4})\])?$/.exec(text);
  if (found === null) refuse(at, `expected $score, $score[0] or a payload key, got ${shown(text)}`);
  return { kind: 'score', prefetch: Number(found[1] ?? 0) };
}

function readDecay(
  shape: (typeof decayShapes)[number],
  json: JsonValue | undefined,
  at: string,
  read: (value: JsonValue | undefined, at: string) => Expression,
): Expression {
  const { x, target, midpoint: middle, scale: width } = readObject(json, at, ['x', 'target', 'midpoint', 'scale']);
  const midpoint = optional(middle) ? midpointDefault : readFinite(middle, `${at}.midpoint`);
  const scale = optional(width) ? scaleDefault : readFinite(width, `${at}.scale`);
  const linear = shape === 'lin';
  if (midpoint < 0 || midpoint > 1 || (!linear && (midpoint === 0 || midpoint === 1))) {
    refuse(`${at}.midpoint`, `expected a number ${linear ? 'from 0 to 1' : 'between 0 and 1'}, got ${midpoint}`);
  }
  if (scale <= 0) refuse(`${at}.scale`, `expected a number above 0, got ${scale}`);
  return {
    kind: 'decay',
    shape,
    x: read(x, `${at}.x`),
    target: optional(target) ? null : read(target, `${at}.target`),
    midpoint,
    scale,
  };
}

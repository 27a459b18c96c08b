import type { JsonObject } from '../../kernel/json.ts';
import { readPointId } from '../point-id.ts';
import { datetimeMs } from './datetime.ts';
import { type Condition, type FieldTest, type Filter, filterOf, type GeoPoint, type Scalar } from './filter.ts';
import {
  type FilterBudget,
  filterConditionsMax,
  filterDepthMax,
  filterTextsMax,
  filterValuesMax,
  takeTexts,
  takeValues,
} from './filter-budget.ts';
import type { KeyPath } from './key-path.ts';
import { inRange } from './matches.ts';
import { readKeyPath } from './read-key-path.ts';
import { kindOf, quoted, readObject, refuse } from './refuse.ts';

/** Keys of a condition about one payload field. */
const fieldKeys = 'key match range geo_bounding_box geo_radius geo_polygon values_count is_empty is_null'.split(' ');

/** Longest text that is looked for in payloads. */
const matchTextCharsMax = 4_096;

const matchKeys = ['value', 'any', 'except', 'prefix', 'text', 'text_any', 'phrase', 'substring'] as const;
const rangeKeys = ['gt', 'gte', 'lt', 'lte'] as const;

/** A condition with `key`. Several tests in it are OR-ed, as in Qdrant. Throws a FailureError (400). */
function readField(object: JsonObject, at: string, budget: FilterBudget): Condition {
  readObject(object, at, fieldKeys);
  const key = readKeyPath(object.key, `${at}.key`);
  const tests: FieldTest[] = [];
  const read = (name: string, reader: (json: unknown, at: string) => FieldTest | FieldTest[]) => {
    const json = object[name];
    if (json !== undefined && json !== null) tests.push(...[reader(json, `${at}.${name}`)].flat());
  };
  read('match', (json, inner) => readMatch(json, inner, budget));
  read('range', readRange);
  read('geo_bounding_box', readGeoBox);
  read('geo_radius', readGeoRadius);
  read('geo_polygon', (json, inner) => readGeoPolygon(json, inner, budget));
  read('values_count', readValuesCount);
  const empty = readFlag(object.is_empty, { kind: 'is-empty', key }, `${at}.is_empty`);
  const flags = [empty, readFlag(object.is_null, holdsNull(key), `${at}.is_null`)];
  const conditions = flags.filter((flag) => flag !== null);
  // A key that is not there has no values: 0.
  if (tests.some((test) => test.kind === 'values-count' && inRange(test, 0)))
    conditions.push({ kind: 'is-empty', key });
  if (tests.length > 0) conditions.unshift({ kind: 'field', key, tests });
  const [only, second] = conditions;
  if (only === undefined) refuse(at, `a condition on 'key' needs one of ${fieldKeys.slice(1).join(', ')}`);
  return second === undefined ? only : { kind: 'filter', filter: filterOf('should', conditions) };
}

/** Null, or an array with a null in it. */
function holdsNull(key: KeyPath): Condition {
  const elements: KeyPath = { text: `${key.text}[]`, steps: [...key.steps, { kind: 'each' }] };
  const either: Condition[] = [
    { kind: 'is-null', key },
    { kind: 'is-null', key: elements },
  ];
  return { kind: 'filter', filter: filterOf('should', either) };
}

function readFlag(flag: unknown, condition: Condition, at: string): Condition | null {
  if (flag === undefined || flag === null) return null;
  if (typeof flag !== 'boolean') refuse(at, `expected true or false, got ${kindOf(flag)}`);
  return flag ? condition : { kind: 'filter', filter: filterOf('mustNot', [condition]) };
}

function readMatch(json: unknown, at: string, budget: FilterBudget): FieldTest | FieldTest[] {
  const object = readObject(json, at, matchKeys);
  const given = matchKeys.filter((key) => object[key] !== undefined);
  const [kind, second] = given;
  if (kind === undefined || second !== undefined)
    refuse(at, `expected one of ${matchKeys.join(', ')}${given.length === 0 ? '' : `, got ${given.join(' and ')}`}`);
  const inner = `${at}.${kind}`;
  const value = object[kind];
  switch (kind) {
    case 'value':
      if (typeof value !== 'boolean') checkScalar(value, inner, 'a string, an integer or a boolean');
      return { kind, value: value as Scalar };
    case 'any':
    case 'except':
      return { kind, values: readValues(value, inner, budget) };
    case 'prefix':
      takeTexts(1, inner, budget);
      return { kind, prefix: readText(value, inner) };
    case 'text':
    case 'phrase':
    case 'substring':
      takeTexts(1, inner, budget);
      return { kind: 'text', text: readText(value, inner), ...(kind !== 'text' && { mode: kind }) };
    case 'text_any': {
      const words = readText(value, inner)
        .split(/\s+/u)
        .filter((word) => word !== '');
      takeTexts(words.length, inner, budget);
      // No word is in no text.
      return words.length === 0 ? { kind: 'any', values: new Set() } : words.map((text) => ({ kind: 'text', text }));
    }
  }
}

function readText(json: unknown, at: string): string {
  if (typeof json !== 'string') refuse(at, `expected a string, got ${kindOf(json)}`);
  if (json.length > matchTextCharsMax)
    refuse(at, `a text to look for has at most ${matchTextCharsMax} characters, this one has ${json.length}`);
  return json;
}

/** Strings alone or integers alone. */
function readValues(json: unknown, at: string, budget: FilterBudget): ReadonlySet<Scalar> {
  if (!Array.isArray(json)) refuse(at, `expected an array of strings or of integers, got ${kindOf(json)}`);
  takeValues(json.length, at, budget);
  for (const [i, value] of json.entries()) {
    checkScalar(value, `${at}[${i}]`, 'a string or an integer');
    if (typeof value !== typeof json[0]) refuse(`${at}[${i}]`, 'expected strings alone or integers alone');
  }
  return new Set(json as Scalar[]);
}

function checkScalar(value: unknown, at: string, expected: string): void {
  if (typeof value === 'string' || Number.isSafeInteger(value)) return;
  if (typeof value !== 'number') refuse(at, `expected ${expected}, got ${kindOf(value)}`);
  // Beyond 2^53 several integers are the same number here, and a filter must not match another's.
  if (Number.isInteger(value)) refuse(at, 'expected an integer between -2^53 and 2^53; store larger ones as strings');
  refuse(at, `expected ${expected}, got ${value}; use range for other numbers`);
}

/** Numbers alone, or times alone. */
function readRange(json: unknown, at: string): FieldTest {
  const isTimes = Object.values(readObject(json, at, rangeKeys)).some((value) => typeof value === 'string');
  if (isTimes) return { kind: 'datetime', ...readSides(json, at, readTime) };
  const readNumber = (value: unknown, place: string) =>
    typeof value === 'number' ? value : refuse(place, `expected a number, got ${kindOf(value)}`);
  return { kind: 'range', ...readSides(json, at, readNumber) };
}

function readTime(value: unknown, at: string): number {
  if (typeof value !== 'string') refuse(at, `expected a time, got ${kindOf(value)}`);
  return datetimeMs(value) ?? refuse(at, `${quoted(value)} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z`);
}

function readValuesCount(json: unknown, at: string): FieldTest {
  const readCount = (value: unknown, place: string) => {
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
    return refuse(place, `expected an integer from 0 on, got ${typeof value === 'number' ? value : kindOf(value)}`);
  };
  return { kind: 'values-count', ...readSides(json, at, readCount) };
}

/** Sides that are left out are open. */
function readSides(json: unknown, at: string, read: (value: unknown, at: string) => number) {
  const object = readObject(json, at, rangeKeys);
  const range = { gt: -Infinity, gte: -Infinity, lt: Infinity, lte: Infinity };
  for (const side of rangeKeys) if (object[side] != null) range[side] = read(object[side], `${at}.${side}`);
  return range;
}

/** Points of one polygon, its holes included. */
const polygonPointsMax = 10_000;

/** `geo_bounding_box`. Throws a FailureError (400), as all of these. */
function readGeoBox(json: unknown, at: string): FieldTest {
  const object = readObject(json, at, ['top_left', 'bottom_right']);
  const topLeft = readPoint(object.top_left, `${at}.top_left`);
  const bottomRight = readPoint(object.bottom_right, `${at}.bottom_right`);
  return { kind: 'geo-box', top: topLeft.lat, left: topLeft.lon, bottom: bottomRight.lat, right: bottomRight.lon };
}

function readGeoRadius(json: unknown, at: string): FieldTest {
  const object = readObject(json, at, ['center', 'radius']);
  const { lat, lon } = readPoint(object.center, `${at}.center`);
  if (typeof object.radius !== 'number') refuse(`${at}.radius`, `expected metres, got ${kindOf(object.radius)}`);
  return { kind: 'geo-radius', lat, lon, radius: object.radius };
}

/** Its points are listed values of the filter: each value of the key is held against all of them. */
function readGeoPolygon(json: unknown, at: string, budget: FilterBudget): FieldTest {
  const object = readObject(json, at, ['exterior', 'interiors']);
  const exterior = readRing(object.exterior, `${at}.exterior`);
  const interiors = object.interiors ?? [];
  if (!Array.isArray(interiors)) refuse(`${at}.interiors`, `expected an array, got ${kindOf(interiors)}`);
  const holes = interiors.map((ring, i) => readRing(ring, `${at}.interiors[${i}]`));
  const points = holes.reduce((sum, ring) => sum + ring.length, exterior.length);
  if (points > polygonPointsMax) refuse(at, `a polygon has at most ${polygonPointsMax} points, this one has ${points}`);
  takeValues(points, at, budget);
  return { kind: 'geo-polygon', exterior, interiors: holes };
}

function readRing(json: unknown, at: string): readonly GeoPoint[] {
  const { points } = readObject(json, at, ['points']);
  if (!Array.isArray(points)) refuse(`${at}.points`, `expected an array of points, got ${kindOf(points)}`);
  if (points.length < 4 || points.length > polygonPointsMax)
    refuse(`${at}.points`, `expected 4 to ${polygonPointsMax} points, got ${points.length}`);
  const ring = points.map((point, i) => readPoint(point, `${at}.points[${i}]`));
  const [first, last] = [ring[0], ring.at(-1)];
  if (first?.lat !== last?.lat || first?.lon !== last?.lon)
    refuse(`${at}.points`, 'the last point must be the first again, to close the line');
  return ring;
}

function readPoint(json: unknown, at: string): GeoPoint {
  const { lat, lon } = readObject(json, at, ['lat', 'lon']);
  return { lat: readDegrees(lat, 90, `${at}.lat`), lon: readDegrees(lon, 180, `${at}.lon`) };
}

function readDegrees(value: unknown, max: number, at: string): number {
  if (typeof value !== 'number' || Math.abs(value) > max)
    refuse(at, `expected degrees from -${max} to ${max}, got ${typeof value === 'number' ? value : kindOf(value)}`);
  return value;
}

const filterKeys = ['must', 'should', 'must_not', 'min_should'];
/** For callers who write the filters of another database. */
const filterExample = ', such as {"must": [{"key": "city", "match": {"value": "Rome"}}]}';
const conditionKeys = [...fieldKeys, 'has_id', 'has_vector', 'nested', ...filterKeys];

/**
 * A filter as Qdrant 1.19 writes it in JSON. `at` is its place, such as `filter`. Throws a FailureError: 400 that names
 * the place, such as `filter.must[2].range.gte`.
 */
export function readFilter(json: unknown, at: string): Filter {
  return readInner(json, at, wholeBudget());
}

/** One condition without a filter around it. */
export function readLoneCondition(json: unknown, at: string): Condition {
  return readCondition(json, at, wholeBudget());
}

function wholeBudget(): FilterBudget {
  return { conditions: filterConditionsMax, values: filterValuesMax, texts: filterTextsMax, depth: 0, nested: false };
}

function readInner(json: unknown, at: string, budget: FilterBudget): Filter {
  const object = readObject(json, at, filterKeys, filterExample);
  if (++budget.depth > filterDepthMax) refuse(at, `filters nest at most ${filterDepthMax} deep`);
  const filter: Filter = {
    must: readClause(object.must, `${at}.must`, budget),
    should: readClause(object.should, `${at}.should`, budget),
    mustNot: readClause(object.must_not, `${at}.must_not`, budget),
    minShould: readMinShould(object.min_should, `${at}.min_should`, budget),
  };
  budget.depth--;
  return filter;
}

/** One condition or an array of them. */
function readClause(json: unknown, at: string, budget: FilterBudget): Condition[] {
  if (json === undefined || json === null) return [];
  if (!Array.isArray(json)) return [readCondition(json, at, budget)];
  return json.map((condition, i) => readCondition(condition, `${at}[${i}]`, budget));
}

function readMinShould(json: unknown, at: string, budget: FilterBudget): Filter['minShould'] {
  if (json === undefined || json === null) return null;
  const object = readObject(json, at, ['conditions', 'min_count']);
  if (!Array.isArray(object.conditions) || object.conditions.length === 0)
    refuse(`${at}.conditions`, 'expected an array of at least one condition');
  const count = object.min_count;
  if (!Number.isSafeInteger(count) || (count as number) < 0)
    refuse(`${at}.min_count`, `expected an integer from 0 on, got ${kindOf(count)}`);
  return { conditions: readClause(object.conditions, `${at}.conditions`, budget), count: count as number };
}

function readCondition(json: unknown, at: string, budget: FilterBudget): Condition {
  const object = readObject(json, at, conditionKeys);
  if (--budget.conditions < 0) refuse(at, `a filter has at most ${filterConditionsMax} conditions`);
  if ('key' in object) return readField(object, at, budget);
  for (const kind of ['is_empty', 'is_null', 'has_id', 'has_vector', 'nested'] as const) {
    if (kind in object) return readOnly(object, kind, at, budget);
  }
  const fieldKey = Object.keys(object).find((key) => !filterKeys.includes(key));
  if (fieldKey !== undefined) refuse(at, `'${fieldKey}' needs a 'key' next to it, the path of the payload field`);
  if (Object.keys(object).length === 0) refuse(at, 'expected a condition, got an empty object');
  return { kind: 'filter', filter: readInner(object, at, budget) };
}

/** A condition of one key. */
function readOnly(
  object: JsonObject,
  kind: 'is_empty' | 'is_null' | 'has_id' | 'has_vector' | 'nested',
  at: string,
  budget: FilterBudget,
): Condition {
  const inner = `${at}.${kind}`;
  readObject(object, at, [kind]);
  switch (kind) {
    case 'is_empty':
    case 'is_null': {
      const key = readKeyPath(readObject(object[kind], inner, ['key']).key, `${inner}.key`);
      return kind === 'is_empty' ? { kind: 'is-empty', key } : holdsNull(key);
    }
    case 'has_id':
      return readHasId(object.has_id, inner, budget);
    case 'has_vector':
      return readHasVector(object.has_vector, inner, budget);
    case 'nested':
      return readNested(object.nested, inner, budget);
  }
}

function readHasId(json: unknown, at: string, budget: FilterBudget): Condition {
  if (budget.nested) refuse(at, 'a nested object has no id: put has_id next to the nested condition');
  if (!Array.isArray(json)) refuse(at, `expected an array of point ids, got ${kindOf(json)}`);
  takeValues(json.length, at, budget);
  return { kind: 'has-id', ids: new Set(json.map((id, i) => readPointId(id, `${at}[${i}]`))) };
}

function readHasVector(json: unknown, at: string, budget: FilterBudget): Condition {
  if (budget.nested) refuse(at, 'a nested object has no vector: put has_vector next to the nested condition');
  if (typeof json !== 'string') refuse(at, `expected the name of a vector, got ${kindOf(json)}`);
  return { kind: 'has-vector', name: json };
}

function readNested(json: unknown, at: string, budget: FilterBudget): Condition {
  const object = readObject(json, at, ['key', 'filter']);
  const key = readKeyPath(object.key, `${at}.key`);
  const outer = budget.nested;
  budget.nested = true;
  const filter = readInner(object.filter, `${at}.filter`, budget);
  budget.nested = outer;
  return { kind: 'nested', key, filter };
}

import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { PointId } from '../point.ts';
import { contains } from './contains.ts';
import { datetimeMs } from './datetime.ts';
import type { Condition, FieldTest, Filter } from './filter.ts';
import { geoPointOf, inBox, inPolygon, inRadius } from './geo.ts';
import { hasTerms } from './has-terms.ts';
import type { KeyPath } from './key-path.ts';
import { reach, valuesAt } from './reach.ts';

/** `id`: null inside a nested object, which has none. */
export interface FilteredPoint {
  id: PointId | null;
  payload: JsonObject | null;
  hasVector(name: string): boolean;
}

/** Whether a point passes: the meaning of every filter, which column caches are checked against. */
export function matches(filter: Filter, point: FilteredPoint): boolean {
  const holds = (condition: Condition) => conditionHolds(condition, point);
  if (!filter.must.every(holds) || filter.mustNot.some(holds)) return false;
  if (filter.should.length > 0 && !filter.should.some(holds)) return false;
  if (filter.minShould === null) return true;
  const { conditions, count } = filter.minShould;
  return conditions.reduce((held, condition) => (held < count && holds(condition) ? held + 1 : held), 0) >= count;
}

const none = (): boolean => false;

function conditionHolds(condition: Condition, point: FilteredPoint): boolean {
  switch (condition.kind) {
    case 'filter':
      return matches(condition.filter, point);
    case 'has-id':
      return point.id !== null && condition.ids.has(point.id);
    case 'has-vector':
      return point.hasVector(condition.name);
    case 'is-empty':
      return valuesAt(point.payload, condition.key.steps).every(isEmptyValue);
    case 'is-null':
      return reach(point.payload, condition.key.steps, (value) => value === null);
    case 'nested':
      return reach(point.payload, elementsOf(condition.key), (value) => {
        return isObject(value) && matches(condition.filter, { id: null, payload: value, hasVector: none });
      });
    case 'field':
      // A path that reaches nothing has no values, and not even a count of them.
      return reach(point.payload, condition.key.steps, (value) => {
        return condition.tests.some((test) => testHolds(test, value));
      });
  }
}

/** Null and the empty array are as if they were not there. */
function isEmptyValue(value: JsonValue): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** How many values a payload value is for `values_count`. */
function countOf(value: JsonValue): number {
  return Array.isArray(value) ? value.length : value === null ? 0 : 1;
}

/** Steps to the elements of the array that `key` names, whether it says `[]` or not. */
function elementsOf(key: KeyPath): KeyPath['steps'] {
  return key.steps.at(-1)?.kind === 'each' ? key.steps : [...key.steps, { kind: 'each' }];
}

/** An array passes if any of its elements does; arrays within it are not looked into. */
function testHolds(test: FieldTest, value: JsonValue): boolean {
  if (test.kind === 'values-count') return inRange(test, countOf(value));
  return Array.isArray(value) ? value.some((element) => valueHolds(test, element)) : valueHolds(test, value);
}

/** A test of one value that is no array to look into. Types are never converted: `1`, `"1"` and `true` are three. */
export function valueHolds(test: FieldTest, value: JsonValue): boolean {
  switch (test.kind) {
    case 'value':
      return value === test.value;
    case 'any':
      return isScalar(value) && test.values.has(value);
    case 'except':
      return value !== null && !(isScalar(value) && test.values.has(value));
    case 'text':
      return typeof value === 'string' && contains(value, test.text);
    case 'prefix':
      return typeof value === 'string' && value.startsWith(test.prefix);
    case 'terms':
      return typeof value === 'string' && hasTerms(value, test);
    case 'range':
      return typeof value === 'number' && inRange(test, value);
    case 'datetime': {
      const ms = typeof value === 'string' ? datetimeMs(value) : null;
      return ms !== null && inRange(test, ms);
    }
    case 'values-count':
      return inRange(test, countOf(value));
    default: {
      const point = geoPointOf(value);
      if (point === null) return false;
      if (test.kind === 'geo-box') return inBox(test, point.lat, point.lon);
      if (test.kind === 'geo-radius') return inRadius(test, point.lat, point.lon);
      return inPolygon(test, point.lat, point.lon);
    }
  }
}

function isScalar(value: JsonValue): value is string | number | boolean {
  return value !== null && typeof value !== 'object';
}

/** Sides that are open are infinite. */
export function inRange(range: { gt: number; gte: number; lt: number; lte: number }, value: number): boolean {
  return value > range.gt && value >= range.gte && value < range.lt && value <= range.lte;
}

import type { JsonObject } from '../../kernel/json.ts';
import { readPointId } from '../point-id.ts';
import type { Condition, Filter } from './filter.ts';
import {
  type FilterBudget,
  filterConditionsMax,
  filterDepthMax,
  filterTextsMax,
  filterValuesMax,
  takeValues,
} from './filter-budget.ts';
import { fieldKeys, readField } from './read-field.ts';
import { readKeyPath } from './read-key-path.ts';
import { kindOf, readObject, refuse } from './refuse.ts';

const filterKeys = ['must', 'should', 'must_not', 'min_should'];
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
  const object = readObject(json, at, filterKeys);
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
      return { kind: kind === 'is_empty' ? 'is-empty' : 'is-null', key };
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

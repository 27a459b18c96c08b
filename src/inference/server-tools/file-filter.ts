import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

const depthMax = 16;

/** A filter in OpenAI's words as the vector store's own: conditions on the payload of passages, at `keyOf` of each key. */
export function vectorFilter(
  filter: JsonObject,
  at: string,
  keyOf: (key: string) => string = (key) => key,
): JsonObject | Failure {
  const condition = conditionOf(filter, depthMax, keyOf);
  if (condition === null) {
    const send = `{"type": "eq", "key": …, "value": …}, or "and" or "or" with 'filters'`;
    const values = "'gt', 'gte', 'lt' and 'lte' take numbers and RFC 3339 times, 'in' and 'nin' lists";
    return invalid(at, `'${at}' must be ${send}; ${values}.`);
  }
  return { must: [condition] };
}

/** Null: it is none. */
function conditionOf(filter: JsonValue | undefined, depth: number, keyOf: (key: string) => string): JsonObject | null {
  if (!isObject(filter) || depth === 0) return null;
  const { type, key: name, value, filters } = filter;
  if (type === 'and' || type === 'or') {
    if (!Array.isArray(filters)) return null;
    const all = filters.map((one) => conditionOf(one, depth - 1, keyOf));
    const known = all.filter((one) => one !== null);
    return known.length < all.length ? null : { [type === 'and' ? 'must' : 'should']: known };
  }
  if (typeof name !== 'string' || value === undefined) return null;
  const key = keyOf(name);
  switch (type) {
    case 'eq':
      return equal(key, value);
    case 'ne':
      return none([equal(key, value)]);
    case 'in':
      return Array.isArray(value) ? some(value.map((one) => equal(key, one))) : null;
    case 'nin':
      return Array.isArray(value) ? none(value.map((one) => equal(key, one))) : null;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return isOrdered(value) ? { key, range: { [type]: value } } : null;
    default:
      return null;
  }
}

/** Null: nothing is equal to such a value. */
function equal(key: string, value: JsonValue): JsonObject | null {
  if (typeof value === 'string' || typeof value === 'boolean') return { key, match: { value } };
  if (typeof value !== 'number') return null;
  // The vector API matches whole numbers alone.
  return Number.isSafeInteger(value) ? { key, match: { value } } : { key, range: { gte: value, lte: value } };
}

function some(conditions: readonly (JsonObject | null)[]): JsonObject | null {
  const known = conditions.filter((one) => one !== null);
  if (known.length < conditions.length) return null;
  // An empty `should` matches everything, and an empty list contains nothing.
  return known.length === 0 ? { must_not: [{ must: [] }] } : { should: known };
}

function none(conditions: readonly (JsonObject | null)[]): JsonObject | null {
  const known = conditions.filter((one) => one !== null);
  return known.length < conditions.length ? null : { must_not: known };
}

const time = /^\d{4}-\d\d-\d\d/;

function isOrdered(value: JsonValue): boolean {
  return typeof value === 'number' || (typeof value === 'string' && time.test(value));
}

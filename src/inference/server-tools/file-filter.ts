import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

const depthMax = 16;

/** Place of a key in the payload of passages; null: no passage has such a key. */
type KeyOf = (key: string) => string | null;

/** A filter in OpenAI's words as the vector store's own: conditions on the payload of passages, at `keyOf` of each key. */
export function vectorFilter(
  filter: JsonObject,
  at: string,
  keyOf: KeyOf = (key) => key,
): { must: JsonObject[] } | Failure {
  const condition = conditionOf(filter, depthMax, keyOf);
  if (condition === null) {
    const send = `{"type": "eq", "key": …, "value": …}, or "and" or "or" with 'filters'`;
    const values = "'gt', 'gte', 'lt' and 'lte' take numbers and RFC 3339 times, 'in' and 'nin' lists";
    return invalid(at, `'${at}' must be ${send}; ${values}.`);
  }
  return { must: [condition] };
}

/** A refusal of the vector API in the caller's words: it names the caller's field at `at`, not a place in `filter`. */
export function refusedFilter(failure: Failure, at: string): Failure {
  if (failure.kind !== 'invalid-request' || !failure.param?.startsWith('filter')) return failure;
  const why = failure.message.slice(failure.message.indexOf(': ') + 2);
  return invalid(at, `'${at}' is too large: ${why}.`);
}

/** Null: it is none. */
function conditionOf(filter: JsonValue | undefined, depth: number, keyOf: KeyOf): JsonObject | null {
  if (!isObject(filter) || depth === 0) return null;
  const { type, key: name, value, filters } = filter;
  if (type === 'and' || type === 'or') {
    if (!Array.isArray(filters)) return null;
    const all = filters.map((one) => conditionOf(one, depth - 1, keyOf));
    const known = all.filter((one) => one !== null);
    if (known.length < all.length) return null;
    return type === 'and' ? { must: known } : any(known);
  }
  if (typeof name !== 'string' || value === undefined) return null;
  const key = keyOf(name);
  if (key === null) return null;
  switch (type) {
    case 'eq':
      return equal(key, value);
    case 'ne':
      return oneOf(key, [value], none);
    case 'in':
      return Array.isArray(value) ? oneOf(key, value, any) : null;
    case 'nin':
      return Array.isArray(value) ? oneOf(key, value, none) : null;
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

/** Conditions on being one of `values`, joined; null: nothing is equal to one of them. */
function oneOf(
  key: string,
  values: readonly JsonValue[],
  join: (conditions: JsonObject[]) => JsonObject,
): JsonObject | null {
  // One condition for all texts and one for all whole numbers: a filter may have more values than conditions.
  const texts = values.filter((one) => typeof one === 'string');
  const whole = values.filter((one) => Number.isSafeInteger(one));
  const others = values.filter((one) => typeof one !== 'string' && !Number.isSafeInteger(one));
  const conditions = others.map((one) => equal(key, one));
  const known = conditions.filter((one) => one !== null);
  if (known.length < conditions.length) return null;
  const lists = [texts, whole].filter(({ length }) => length > 0).map((list) => ({ key, match: { any: list } }));
  return join([...lists, ...known]);
}

/** An empty `should` matches everything, and one of no conditions holds for nothing. */
function any(conditions: JsonObject[]): JsonObject {
  return conditions.length === 0 ? { must_not: [{ must: [] }] } : { should: conditions };
}

function none(conditions: JsonObject[]): JsonObject {
  return { must_not: conditions };
}

const time = /^\d{4}-\d\d-\d\d/;

function isOrdered(value: JsonValue): boolean {
  return typeof value === 'number' || (typeof value === 'string' && time.test(value));
}

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
    return invalid(at, `'${at}' must be ${send}.`);
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
      return { key, match: { value } };
    case 'ne':
      return { must_not: [{ key, match: { value } }] };
    case 'in':
      return { key, match: { any: value } };
    case 'nin':
      return { must_not: [{ key, match: { any: value } }] };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { key, range: { [type]: value } };
    default:
      return null;
  }
}

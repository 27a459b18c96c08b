import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

const depthMax = 16;

/** A filter in OpenAI's words as the vector store's own: conditions on the payload of passages. */
export function vectorFilter(filter: JsonObject, field: string): JsonObject | Failure {
  const condition = conditionOf(filter, depthMax);
  if (condition === null) {
    const send = `{"type": "eq", "key": …, "value": …}, or "and" or "or" with 'filters'`;
    return invalid(field, `'${field}.filters' must be ${send}.`);
  }
  return { must: [condition] };
}

/** Null: it is none. */
function conditionOf(filter: JsonValue | undefined, depth: number): JsonObject | null {
  if (!isObject(filter) || depth === 0) return null;
  const { type, key, value, filters } = filter;
  if (type === 'and' || type === 'or') {
    if (!Array.isArray(filters)) return null;
    const all = filters.map((one) => conditionOf(one, depth - 1));
    const known = all.filter((one) => one !== null);
    return known.length < all.length ? null : { [type === 'and' ? 'must' : 'should']: known };
  }
  if (typeof key !== 'string' || value === undefined) return null;
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

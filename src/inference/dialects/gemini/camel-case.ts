import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** What callers and models make up: its names are nobody's to change. */
const opaque: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);

/**
 * A body with its members named as Google's reference names them: its servers take `system_instruction` as well, and
 * its own examples write so. The same object when there is nothing to rename.
 */
export function inCamelCase(body: JsonObject): JsonObject {
  return renamed(body) as JsonObject;
}

function renamed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const list = value.map(renamed);
    return list.some((one, i) => one !== value[i]) ? list : value;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const members = Object.entries(value).map(([name, member]): [string, JsonValue | undefined] => {
    const camel = name.includes('_')
      ? name.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      : name;
    // Given both ways, each stays as it is, and the other is unknown.
    const free = camel === name || !Object.hasOwn(value, camel);
    const inner = member === undefined || opaque.has(camel) ? member : renamed(member);
    if ((free && camel !== name) || inner !== member) changed = true;
    return [free ? camel : name, inner];
  });
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return changed ? Object.fromEntries(members) : value;
}

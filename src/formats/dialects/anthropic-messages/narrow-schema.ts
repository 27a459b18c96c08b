import { isObject, type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import { type NarrowedSchema, type Narrowing, narrowedBy, narrowNamed, narrowValue } from '../narrowing.ts';

/**
 * Keywords that Anthropic's structured outputs refuse with a 400 (docs "Structured outputs", JSON Schema limitations).
 * They go into the description instead, where the model reads them.
 */
const refused = new Set(
  `minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
  maxItems uniqueItems contains minContains maxContains prefixItems minProperties
  maxProperties patternProperties propertyNames dependentRequired dependentSchemas
  unevaluatedProperties unevaluatedItems not if then else`.split(/\s+/),
);

const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);

/** The schema as Anthropic's structured outputs take it; the caller's object is not changed. */
export function narrowSchema(schema: JsonObject): NarrowedSchema {
  return narrowedBy(narrow, schema);
}

function narrow(schema: JsonObject, run: Narrowing): JsonObject {
  const members: [string, JsonValue][] = [];
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === 'additionalProperties') continue;
    if (refuses(key, value)) dropped.push(`${key}: ${JSON.stringify(value)}`);
    else if (key === 'oneOf') members.push(['anyOf', narrowValue(value, run)]);
    else if (key === 'properties' || key === '$defs' || key === 'definitions')
      members.push([key, narrowNamed(value, run)]);
    else if (key === 'items' || key === 'anyOf' || key === 'allOf') members.push([key, narrowValue(value, run)]);
    else members.push([key, value]);
  }
  const more = schema.additionalProperties;
  if (describesObject(schema)) {
    // Absent means "may have more", which a model held to a schema does not use: only a stated wish is lost.
    if (more !== undefined && more !== false) run.narrowed = true;
    members.push(['additionalProperties', false]);
  } else if (more !== undefined) {
    members.push(['additionalProperties', more]);
  }
  if (dropped.length > 0) {
    run.narrowed = true;
    const description = typeof schema.description === 'string' ? `${schema.description} ` : '';
    members.push(['description', `${description}(${dropped.join(', ')})`]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(members);
}

function refuses(key: string, value: JsonValue): boolean {
  if (refused.has(key)) return true;
  if (key === 'minItems') return value !== 0 && value !== 1;
  return key === 'format' && !formats.has(jsonText(value));
}

function describesObject(schema: JsonObject): boolean {
  const type = schema.type;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(schema.properties);
}

/** True if a definition refers to itself, in any way: Anthropic's structured outputs refuse that. */
export function isRecursive(schema: JsonObject): boolean {
  const definitions = new Map<string, JsonValue>([['#', schema]]);
  for (const home of ['$defs', 'definitions']) {
    const named = schema[home];
    if (!isObject(named)) continue;
    for (const [name, inner] of Object.entries(named))
      if (inner !== undefined) definitions.set(`#/${home}/${name}`, inner);
  }
  const done = new Set<string>();
  const onTheWay = new Set<string>();

  function reachesItself(reference: string): boolean {
    if (onTheWay.has(reference)) return true;
    const target = definitions.get(reference);
    if (done.has(reference) || target === undefined) return false;
    onTheWay.add(reference);
    const found = references(target, reference === '#' ? 'root' : 'inner').some(reachesItself);
    onTheWay.delete(reference);
    done.add(reference);
    return found;
  }
  return reachesItself('#') || [...definitions.keys()].some(reachesItself);
}

function references(value: JsonValue, place: 'root' | 'inner'): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => references(item, 'inner'));
  if (!isObject(value)) return [];
  const found: string[] = [];
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref' && typeof inner === 'string') found.push(inner);
    // Definitions count where they are used, not where they are written.
    else if (inner !== undefined && !(place === 'root' && (key === '$defs' || key === 'definitions')))
      found.push(...references(inner, 'inner'));
  }
  return found;
}

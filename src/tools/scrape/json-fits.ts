import { isObject, type JsonObject, type JsonValue, listIn, objectIn } from '../../kernel/json.ts';

/** Schemas are callers': one that refers to itself, or branches at every level, ends here. */
const depthMax = 100;
const stepsMax = 200_000;

interface Look {
  root: JsonObject;
  steps: number;
}

/**
 * Why a value does not fit a JSON Schema, with the path of the fault; null when it fits. It checks types, `enum`,
 * `const`, members, items, bounds of numbers and lengths, `anyOf`, `oneOf`, `allOf`, `not`, `$ref` within the schema.
 * It ignores `pattern` and `format`: a stranger's regular expression may take for ever.
 */
export function misfitOf(value: JsonValue, schema: JsonObject): string | null {
  return misfit(value, schema, 'the answer', 0, { root: schema, steps: 0 });
}

function misfit(value: JsonValue, given: JsonValue | undefined, at: string, depth: number, look: Look): string | null {
  if (given === false) return `${at} is not allowed`;
  if (!isObject(given)) return null;
  look.steps += 1;
  if (depth > depthMax || look.steps > stepsMax) return `${at} is too deep to be checked`;
  const within = (part: JsonValue, rule: JsonValue | undefined, path = at) => misfit(part, rule, path, depth + 1, look);
  if (typeof given.$ref === 'string') {
    const wrong = within(value, resolved(given.$ref, look.root));
    if (wrong !== null) return wrong;
  }
  return (
    ofType(value, given, at) ??
    inBounds(value, given, at) ??
    ofChoices(value, given, at, within) ??
    ofMembers(value, given, at, within) ??
    ofItems(value, given, at, within)
  );
}

type Within = (part: JsonValue, rule: JsonValue | undefined, path?: string) => string | null;

function ofType(value: JsonValue, { type, nullable }: JsonObject, at: string): string | null {
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : null;
  if (types === null || (nullable === true && value === null)) return null;
  const actual = typeOf(value);
  const fits = types.some((one) => one === actual || (one === 'number' && actual === 'integer'));
  return fits ? null : `${at} must be of type ${types.join(' or ')}`;
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function inBounds(value: JsonValue, schema: JsonObject, at: string): string | null {
  const { enum: allowed, const: only } = schema;
  const same = (other: JsonValue | undefined) => JSON.stringify(other) === JSON.stringify(value);
  if (Array.isArray(allowed) && !allowed.some(same)) return `${at} must be one of ${shown(allowed)}`;
  if (only !== undefined && !same(only)) return `${at} must be ${shown(only)}`;
  if (typeof value === 'number') return inRange(value, schema, at);
  if (typeof value === 'string') return ofLength([...value].length, schema.minLength, schema.maxLength, at);
  return Array.isArray(value) ? ofLength(value.length, schema.minItems, schema.maxItems, at) : null;
}

function inRange(value: number, schema: JsonObject, at: string): string | null {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  if (typeof minimum === 'number' && value < minimum) return `${at} must be at least ${minimum}`;
  if (typeof maximum === 'number' && value > maximum) return `${at} must be at most ${maximum}`;
  if (typeof above === 'number' && value <= above) return `${at} must be above ${above}`;
  return typeof below === 'number' && value >= below ? `${at} must be below ${below}` : null;
}

function ofLength(length: number, least: JsonValue | undefined, most: JsonValue | undefined, at: string) {
  if (typeof least === 'number' && length < least) return `${at} must have a length of at least ${least}`;
  return typeof most === 'number' && length > most ? `${at} must have a length of at most ${most}` : null;
}

/** For a message: a list may be long. */
function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 500);
}

function ofChoices(value: JsonValue, schema: JsonObject, at: string, within: Within): string | null {
  const { anyOf, oneOf, allOf, not } = schema;
  const fitting = (rules: JsonValue[]) => rules.filter((rule) => within(value, rule) === null).length;
  if (Array.isArray(anyOf) && fitting(anyOf) === 0) return `${at} fits none of anyOf`;
  if (Array.isArray(oneOf) && fitting(oneOf) !== 1) return `${at} must fit exactly one of oneOf`;
  if (isObject(not) && within(value, not) === null) return `${at} fits what 'not' forbids`;
  return firstOf(listIn(allOf), (rule) => within(value, rule));
}

function ofMembers(value: JsonValue, schema: JsonObject, at: string, within: Within): string | null {
  if (!isObject(value)) return null;
  const { properties, required, additionalProperties } = schema;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(value, String(name))) : undefined;
  if (missing !== undefined) return `${at} must have '${String(missing)}'`;
  const known = objectIn(properties);
  return firstOf(Object.keys(value), (name) => {
    const rule = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    return within(value[name] ?? null, rule, `${at}.${name}`);
  });
}

function ofItems(value: JsonValue, { items, prefixItems }: JsonObject, at: string, within: Within): string | null {
  if (!Array.isArray(value)) return null;
  const first = listIn(prefixItems);
  return firstOf([...value.entries()], ([index, one]) => within(one, first[index] ?? items, `${at}[${index}]`));
}

function firstOf<T>(list: readonly T[], wrong: (one: T) => string | null): string | null {
  for (const one of list) {
    const why = wrong(one);
    if (why !== null) return why;
  }
  return null;
}

/** `#`, `#/$defs/name`. A missing definition allows everything. */
function resolved(reference: string, root: JsonObject): JsonValue | undefined {
  let place: JsonValue | undefined = root;
  for (const part of reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((one) => one !== '')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(place) || !Object.hasOwn(place, name)) return undefined;
    place = place[name];
  }
  return reference.startsWith('#') ? place : undefined;
}

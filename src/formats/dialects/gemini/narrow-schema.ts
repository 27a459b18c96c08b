import { isObject, type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import { type NarrowedSchema, type Narrowing, narrowedBy, narrowNamed, narrowValue } from '../narrowing.ts';

/** Keywords of `responseJsonSchema` (Gemini API reference, GenerationConfig); it refuses or ignores the rest. */
const taken: ReadonlySet<string> = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems
  minItems maxItems minimum maximum anyOf oneOf properties additionalProperties
  required propertyOrdering`.split(/\s+/),
);
/** They restrict nothing. */
const remarks: ReadonlySet<string> = new Set([
  '$schema',
  '$comment',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/** The schema as Google's structured output takes it; the caller's object is not changed. */
export function narrowSchema(schema: JsonObject): NarrowedSchema {
  return narrowedBy(narrow, schema);
}

function narrow(written: JsonObject, run: Narrowing): JsonObject {
  const schema = withoutLoneAllOf(written);
  if (typeof schema.$ref === 'string') return reference(schema, schema.$ref, run);
  const narrowed: [string, JsonValue][] = [];
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || remarks.has(key)) continue;
    if (key === 'definitions' || key === '$defs') narrowed.push(['$defs', narrowNamed(value, run)]);
    else if (key === 'properties') narrowed.push([key, narrowNamed(value, run)]);
    else if (key === 'const' && isName(value)) narrowed.push(['enum', [value]]);
    else if (!taken.has(key) || (key === 'enum' && !(Array.isArray(value) && value.every(isName))))
      dropped.push(`${key}: ${JSON.stringify(value)}`);
    else if (key === 'enum') narrowed.push([key, value]);
    else narrowed.push([key, narrowValue(value, run)]);
  }
  if (dropped.length > 0) {
    run.narrowed = true;
    const at = narrowed.findIndex(([key]) => key === 'description');
    const [before] = at < 0 ? [] : narrowed.splice(at, 1);
    const description = before === undefined ? '' : `${jsonText(before[1])} `;
    // The model reads what cannot hold it.
    narrowed.push(['description', `${description}(${dropped.join(', ')})`]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(narrowed);
}

/** Next to `$ref` only members that begin with `$` are accepted. */
function reference(schema: JsonObject, target: string, run: Narrowing): JsonObject {
  const members: [string, JsonValue][] = [['$ref', target.replace(/^#\/definitions\//, '#/$defs/')]];
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$defs' || key === 'definitions') members.push(['$defs', narrowNamed(value ?? null, run)]);
    else if (key !== '$ref' && key !== 'description' && key !== 'title' && !remarks.has(key)) run.narrowed = true;
  }
  return Object.fromEntries(members);
}

/** Generators write `allOf: [one]` to hang a description on a reference: that says the one. */
function withoutLoneAllOf(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || allOf.length !== 1 || !isObject(allOf[0])) return schema;
  const [one] = allOf;
  if (Object.keys(one).some((key) => rest[key] !== undefined)) return schema;
  if (one.$ref === undefined) return { ...rest, ...one };
  const { $defs, definitions, description: _, title: __, ...others } = rest;
  if (Object.keys(others).some((key) => !remarks.has(key))) return schema;
  return { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }), ...one };
}

function isName(value: JsonValue): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

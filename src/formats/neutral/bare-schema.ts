import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { flatSchema } from './flat-schema.ts';

/** References that are followed in a schema, those within what they name too. */
const referencesMax = 200;

/**
 * Schema of a tool as Nova takes it: "extraneous key [definitions] is not permitted". References become what they name; those
 * that name what they are in take any value.
 */
export function bareSchema(schema: JsonObject): JsonObject {
  const { properties, required } = flatSchema(schema) ?? schema;
  const run = { root: schema, left: referencesMax };
  return { type: 'object', properties: inlined(objectIn(properties), run, []), ...(required != null && { required }) };
}

/** Members of the schema that it lacks then and a model may heed, as JSON; null: there are none. */
export function withheld(schema: JsonObject): string | null {
  const rest = Object.entries(schema).filter(([name]) => !unheeded.has(name));
  return rest.length === 0 ? null : JSON.stringify(Object.fromEntries(rest));
}

const unheeded: ReadonlySet<string> = new Set(
  'type properties required $defs definitions $schema $id $comment additionalProperties'.split(' '),
);

function inlined(value: JsonValue, run: { root: JsonObject; left: number }, inside: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((one) => inlined(one, run, inside));
  if (!isObject(value)) return value;
  const { $ref: target, ...rest } = value;
  if (typeof target === 'string') {
    const named = inside.includes(target) || run.left-- <= 0 ? {} : objectIn(namedBy(run.root, target));
    return inlined({ ...named, ...rest }, run, [...inside, target]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inlined(one ?? null, run, inside)]));
}

/** The part of a schema that a reference such as `#/$defs/Page` names. */
function namedBy(root: JsonObject, reference: string): JsonValue | undefined {
  const steps = reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((step) => step !== '');
  let at: JsonValue | undefined = root;
  for (const step of steps) at = objectIn(at)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  return at;
}

import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { FittedMembers } from '../dialects/forward-target.ts';
import type { Loss } from '../neutral/loss.ts';

/** llama.cpp's grammars refuse as many repetitions (`MAX_REPETITION_THRESHOLD` of src/llama-grammar.cpp). */
const repetitionsMax = 2_000;
const bounds: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'minItems', 'maxItems']);
const schemaMaps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const schemaPlaces: ReadonlySet<string> = new Set(
  'items additionalProperties anyOf oneOf allOf prefixItems'.split(' '),
);

/**
 * Patterns that common/json-schema-to-grammar.cpp translates: for whole values, without classes such as `\d`, escapes
 * that its grammars do not know, anchors inside, and large counts.
 */
const translated = /^\^(?:[^\\[^$]|\\[\\^$.[\]()|{}*+?nrt]|\[(?:[^\\\]]|\\[\\\][nrt])*\])*\$$/;
const beyond = /\(\?(?!:)|\{[\d,]*\d{4}/;

/**
 * Top-level members of a body, in any dialect, with the schemas of tools and of the answer as llama.cpp takes them: one
 * keyword that it cannot translate makes it refuse the request. The description has the keyword then. Null: they can stay.
 */
export function grammarSchemas(body: JsonObject): FittedMembers | null {
  const losses: Loss[] = [];
  const members: JsonObject = {};
  const { tools, response_format: format, text, output_config: config } = body;
  if (Array.isArray(tools)) {
    const fitted = tools.map((tool, at) => {
      const found = isObject(tool) ? withSchema(tool, toolPlaces, fit) : null;
      if (found !== null) losses.push({ field: `tools[${at}].function.parameters`, why: 'narrowed' });
      return found ?? tool;
    });
    if (losses.length > 0) members.tools = fitted;
  }
  for (const [name, holder] of Object.entries({ response_format: format, text, output_config: config })) {
    const found = isObject(holder) ? withSchema(holder, answerPlaces, fit) : null;
    if (found === null) continue;
    members[name] = found;
    losses.push({ field: 'response_format.json_schema.schema', why: 'narrowed' });
  }
  return losses.length > 0 ? { members, losses } : null;
}

/** Paths of a schema within a tool, and within the answer's form. */
export const toolPlaces = [['function', 'parameters'], ['parameters'], ['input_schema']] as const;
const answerPlaces = [
  ['json_schema', 'schema'],
  ['format', 'schema'],
] as const;

/** `holder` with another schema at the first of `places` that has one; null: there is none, or it can stay. */
export function withSchema(
  holder: JsonObject,
  places: readonly (readonly [string, string?])[],
  fit: (schema: JsonObject) => JsonObject | null,
): JsonObject | null {
  for (const [name, inner] of places) {
    const value = holder[name];
    if (!isObject(value)) continue;
    const fitted = inner === undefined ? fit(value) : withSchema(value, [[inner]], fit);
    return fitted && { ...holder, [name]: fitted };
  }
  return null;
}

function fit(schema: JsonObject): JsonObject | null {
  const dropped: string[] = [];
  let fitted: JsonObject | null = null;
  for (const [key, value] of Object.entries(schema)) {
    if (refuses(key, value)) {
      dropped.push(`${key}: ${JSON.stringify(value)}`);
      continue;
    }
    const inner = schemaMaps.has(key) ? fitNamed(value) : schemaPlaces.has(key) ? fitPlace(value) : null;
    if (inner !== null) fitted = { ...(fitted ?? schema), [key]: inner };
  }
  if (dropped.length === 0) return fitted;
  const rest = Object.entries(fitted ?? schema).filter(([key, value]) => !refuses(key, value));
  const description = typeof schema.description === 'string' ? `${schema.description} ` : '';
  return { ...Object.fromEntries(rest), description: `${description}(${dropped.join(', ')})` };
}

function refuses(key: string, value: JsonValue | undefined): boolean {
  if (key === 'pattern') return typeof value === 'string' && (!translated.test(value) || beyond.test(value));
  return bounds.has(key) && typeof value === 'number' && value >= repetitionsMax;
}

function fitPlace(value: JsonValue | undefined): JsonValue | null {
  if (isObject(value)) return fit(value);
  if (!Array.isArray(value)) return null;
  const fitted = value.map((one) => (isObject(one) ? fit(one) : null));
  return fitted.some((one) => one !== null) ? value.map((one, at) => fitted[at] ?? one) : null;
}

function fitNamed(value: JsonValue | undefined): JsonValue | null {
  if (!isObject(value)) return null;
  const fitted = Object.entries(value).map(([name, one]) => [name, (isObject(one) ? fit(one) : null) ?? one] as const);
  return fitted.some(([name, one]) => one !== value[name]) ? Object.fromEntries(fitted) : null;
}

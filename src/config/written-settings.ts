import { inputSchema, type JsonSchema } from './json-schema.ts';
import { parseDurationMs, parseSizeBytes } from './scalars.ts';
import { configSchema } from './schema.ts';

/** One value of a configuration, in the form that the file has. */
export interface WrittenSetting {
  /** Such as `providers.groq.timeouts.first_token`, or `keys[0].account`. */
  path: string;
  /** `30s`, `32mb`, `5%`, `a, b`; null: not set. */
  value: string | null;
  /** `set`: not the default of the schema, or a key that has no default. */
  from: 'default' | 'set';
}

/** Every setting of a checked configuration, in its order. Durations, sizes and the like are as the file writes them. */
export function writtenSettings(config: Readonly<Record<string, unknown>>): WrittenSetting[] {
  known ??= read();
  const { schema, unwritten } = known;
  const into = settingsIn(config, schema);
  for (const setting of into) if (unwritten.get(setting.path) === setting.value) setting.from = 'default';
  return into;
}

let known: ReturnType<typeof read> | undefined;

/** The schema, and the settings of an empty file, which has the plan `default`. */
function read() {
  const schema = inputSchema();
  return {
    schema,
    unwritten: new Map(settingsIn(configSchema.parse({}), schema).map(({ path, value }) => [path, value])),
  };
}

function settingsIn(config: Readonly<Record<string, unknown>>, schema: JsonSchema): WrittenSetting[] {
  const into: WrittenSetting[] = [];
  for (const [name, value] of Object.entries(config)) look(value, schema.properties?.[name] ?? {}, name, into);
  return into;
}

function look(value: unknown, schema: JsonSchema, path: string, into: WrittenSetting[]): void {
  const plain = plainValue(value, schema);
  if (plain !== undefined) {
    const isDefault = plain === null || plain === defaultValue(schema);
    into.push({ path, value: plain, from: isDefault ? 'default' : 'set' });
    return;
  }
  for (const [name, inner] of Object.entries(value as object)) {
    const at = Array.isArray(value) ? `[${name}]` : `.${name}`;
    look(inner, childOf(schema, name), path + at, into);
  }
}

/** Undefined: there are settings within it. */
function plainValue(value: unknown, schema: JsonSchema): string | null | undefined {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return written(value, kindOf(schema));
  if (typeof value !== 'object') return String(value);
  const all = Object.values(value);
  if (all.length === 0) return null;
  if (!Array.isArray(value) || all.some((one) => typeof one === 'object' && one !== null)) return undefined;
  return all.map((one) => plainValue(one, schema.items ?? {})).join(', ');
}

/** The default of the schema in the same form. */
function defaultValue(schema: JsonSchema): string | null {
  const { default: given } = schema;
  const kind = kindOf(schema);
  const parsed = typeof given === 'string' ? amountIn(given, kind) : undefined;
  return plainValue(parsed ?? given, schema) ?? null;
}

function amountIn(text: string, kind: string | undefined): number | undefined {
  if (kind === 'duration') return parseDurationMs(text);
  if (kind === 'size') return parseSizeBytes(text);
  return kind === 'percentage' && text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : undefined;
}

function kindOf(schema: JsonSchema): string | undefined {
  return schema.kind ?? schema.anyOf?.map(kindOf).find((kind) => kind !== undefined);
}

const durations = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;
const sizes = [
  ['gb', 1024 ** 3],
  ['mb', 1024 ** 2],
  ['kb', 1024],
] as const;

function written(value: number, kind: string | undefined): string {
  switch (kind) {
    case 'duration':
      return value === 0 ? '0s' : inUnits(value, durations, 'ms');
    case 'size':
      return inUnits(value, sizes, 'b');
    case 'percentage':
      return `${Number((value * 100).toFixed(3))}%`;
    case 'date':
      return Number.isFinite(value) ? new Date(value).toISOString() : String(value);
    default:
      return String(value);
  }
}

/** In the largest unit of which it is a whole number. */
function inUnits(value: number, units: readonly (readonly [string, number])[], smallest: string): string {
  const [unit, size] = units.find(([, size]) => value !== 0 && value % size === 0) ?? [smallest, 1];
  return `${value / size}${unit}`;
}

/** Schema of a member or an item, in the branch that has it. */
function childOf(schema: JsonSchema, name: string): JsonSchema {
  const { properties, additionalProperties, items, anyOf = [] } = schema;
  const memberSchema =
    properties?.[name] ?? items ?? (typeof additionalProperties === 'object' ? additionalProperties : null);
  if (memberSchema !== null && memberSchema !== undefined) return memberSchema;
  return anyOf.map((branch) => childOf(branch, name)).find((child) => Object.keys(child).length > 0) ?? {};
}

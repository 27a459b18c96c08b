import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralTool } from '../../neutral/request.ts';
import type { NarrowedSchema } from '../narrowing.ts';
import type { ModelRules } from './model-rules.ts';
import { isRecursive, narrowSchema } from './narrow-schema.ts';

/** Bounds of Anthropic for one request, over all its strict schemas (docs "Structured outputs", complexity limits). */
const toolsMax = 20;
const optionalMax = 24;
const unionsMax = 16;

/**
 * Schemas of the tools that are to be strict and can be, by place among `tools`: models of before do not know the word,
 * and Anthropic refuses requests whose strict schemas are recursive or too many. The first ones come first.
 */
export function strictSchemas(
  tools: readonly NeutralTool[],
  rules: Pick<ModelRules, 'jsonSchema'>,
): ReadonlyMap<number, NarrowedSchema> {
  const strict = new Map<number, NarrowedSchema>();
  if (rules.jsonSchema !== 'native') return strict;
  const total: Complexity = { optional: 0, unions: 0 };
  tools.forEach((tool, index) => {
    const schema = tool.parameters ?? { type: 'object', properties: {} };
    if (tool.strict !== true || strict.size >= toolsMax || isRecursive(schema)) return;
    const complexity: Complexity = { optional: 0, unions: 0 };
    count(schema, complexity);
    if (total.optional + complexity.optional > optionalMax || total.unions + complexity.unions > unionsMax) return;
    total.optional += complexity.optional;
    total.unions += complexity.unions;
    strict.set(index, narrowSchema(schema.type === undefined ? { type: 'object', ...schema } : schema));
  });
  return strict;
}

interface Complexity {
  /** Properties that may be left out. */
  optional: number;
  /** Properties of several types. */
  unions: number;
}

function count(value: JsonValue | undefined, total: Complexity): void {
  if (Array.isArray(value)) for (const one of value) count(one, total);
  if (!isObject(value)) return;
  if (isObject(value.properties)) {
    const required = new Set(Array.isArray(value.required) ? value.required : []);
    for (const name in value.properties) if (!required.has(name)) total.optional++;
  }
  if (Array.isArray(value.anyOf) || Array.isArray(value.oneOf) || Array.isArray(value.type)) total.unions++;
  for (const name in value) if (name !== 'enum' && name !== 'const') count(value[name], total);
}

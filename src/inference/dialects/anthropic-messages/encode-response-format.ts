import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralRequest } from '../../neutral/request.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import type { ModelRules } from './model-rules.ts';
import { isRecursive, narrowSchema } from './narrow-schema.ts';
import type { Tool, ToolChoice } from './wire.ts';

/** How structured output is asked for: natively, or as one forced call whose arguments are the answer. */
export type EncodedFormat =
  | { kind: 'text' }
  | { kind: 'native'; format: JsonObject }
  | { kind: 'forced-tool'; tool: Tool; choice: ToolChoice };

const field = 'response_format';
/** Name of the tool that stands in; the decoder unwraps its call. */
const standIn = 'json_response';

export function encodeFormat(request: NeutralRequest, rules: ModelRules, encoding: Encoding): EncodedFormat {
  const format = request.responseFormat;
  if (format === undefined || format.type === 'text') return { kind: 'text' };
  if (format.type === 'json-object')
    return forcedTool(openSchema, 'the answer, a JSON object', request, rules, encoding);
  const schema = format.schema;
  if (rules.jsonSchema === 'native' && !isRecursive(schema)) {
    const narrowed = narrowSchema(schema);
    if (narrowed.narrowed) lose(encoding, `${field}.json_schema.schema`, 'narrowed');
    return { kind: 'native', format: { type: 'json_schema', schema: narrowed.schema } };
  }
  if (schema.type !== undefined && schema.type !== 'object') {
    refuse(encoding, `${field}.json_schema.schema`, 'For this model the schema must describe an object.');
    return { kind: 'text' };
  }
  const whole: JsonObject = schema.type === undefined ? { type: 'object', ...schema } : schema;
  return forcedTool(whole, format.description ?? `the answer, as ${format.name}`, request, rules, encoding);
}

const openSchema: JsonObject = { type: 'object', additionalProperties: true };

function forcedTool(
  schema: JsonObject,
  what: string,
  request: NeutralRequest,
  rules: ModelRules,
  encoding: Encoding,
): EncodedFormat {
  if (request.tools !== undefined && request.tools.length > 0) {
    refuse(
      encoding,
      field,
      'This model cannot be held to a response format while it has tools: leave one of them out.',
    );
  } else if (rules.forcedTool === 'refused') {
    refuse(encoding, field, 'For this model only response_format of type json_schema, not recursive, is supported.');
  }
  return {
    kind: 'forced-tool',
    tool: { name: standIn, description: `Gives ${what}.`, input_schema: schema },
    choice: { type: 'tool', name: standIn, disable_parallel_tool_use: true },
  };
}

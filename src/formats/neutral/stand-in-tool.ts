import { type Failure, invalid } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { NeutralResponseFormat, NeutralTool } from './request.ts';

const usualName = 'json_response';

/**
 * Tool that replaces a response format if a model has no such thing: the arguments of its call are the answer, which
 * the decoder unwraps. Its name is none of `tools`. Refused: a schema that no arguments can meet.
 */
export function standInTool(
  format: Exclude<NeutralResponseFormat, { type: 'text' }>,
  tools: readonly NeutralTool[] = [],
): (NeutralTool & { description: string; parameters: JsonObject }) | Failure {
  let name = usualName;
  while (tools.some((tool) => tool.name === name)) name += '_';
  if (format.type === 'json-object') {
    const parameters = { type: 'object', properties: {}, additionalProperties: true };
    return { name, description: 'Gives the answer, a JSON object.', parameters };
  }
  const { schema, description = `the answer, as ${format.name}` } = format;
  if (schema.type !== undefined && schema.type !== 'object') {
    const field = 'response_format.json_schema.schema';
    return invalid(field, 'For this model the schema must describe an object.');
  }
  return { name, description: `Gives ${description}.`, parameters: { type: 'object', ...schema } };
}

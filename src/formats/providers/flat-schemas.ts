import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import type { FittedMembers } from '../dialects/forward-target.ts';
import { flatSchema } from '../neutral/flat-schema.ts';
import type { Loss } from '../neutral/loss.ts';
import { toolPlaces, withSchema } from './grammar-schemas.ts';

/**
 * Tools of a body, in any dialect, as Anthropic and OpenAI take their schemas: "input_schema does not support oneOf, allOf, or
 * anyOf at the top level". One such tool, as MCP servers have them, makes them refuse the request.
 * Null: they can stay.
 */
export const flatSchemas = Object.assign(fitTools, { of: 'tools' } as const);

function fitTools({ tools }: JsonObject): FittedMembers | null {
  if (!Array.isArray(tools)) return null;
  const losses: Loss[] = [];
  const fitted = tools.map((tool, at) => {
    const place = objectIn(tool).input_schema === undefined ? 'parameters' : 'input_schema';
    const found = isObject(tool) ? withSchema(tool, toolPlaces, flatSchema) : null;
    if (found !== null)
      losses.push({
        field: `tools[${at}].${isObject(objectIn(tool).function) ? 'function.' : ''}${place}`,
        why: 'narrowed',
      });
    return found ?? tool;
  });
  return losses.length > 0 ? { members: { tools: fitted }, losses } : null;
}

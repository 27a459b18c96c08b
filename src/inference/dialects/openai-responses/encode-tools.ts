import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { NeutralRequest, NeutralTool } from '../../neutral/request.ts';

export interface EncodedTools {
  tools?: JsonObject[];
  tool_choice?: JsonValue;
  parallel_tool_calls?: boolean;
}

/** `own` is what this dialect's own decoder kept: the provider's tools among it, as `tools.<type>`. */
export function encodeTools(request: NeutralRequest, own: JsonObject, losses: Loss[]): EncodedTools {
  const tools = (request.tools ?? []).map((tool) => encodeTool(tool, losses));
  tools.push(...ownTools(own));
  const parallel = request.parallelToolCalls === undefined ? {} : { parallel_tool_calls: request.parallelToolCalls };
  if (tools.length === 0) return parallel;
  const choice = choiceOf(request);
  return { tools, ...(choice !== undefined && { tool_choice: choice }), ...parallel };
}

/** The provider's tools among what this dialect's own decoder kept. */
export function ownTools(own: JsonObject): JsonObject[] {
  const kept = Object.entries(own).filter(([name, value]) => /^tools\.[^[]/.test(name) && Array.isArray(value));
  return kept.flatMap(([, value]) => value as JsonObject[]);
}

function encodeTool(tool: NeutralTool, losses: Loss[]): JsonObject {
  if (tool.cache !== undefined && !losses.some((loss) => loss.field === 'cache_control')) {
    losses.push({ field: 'cache_control', why: 'unsupported' });
  }
  if (tool.custom !== undefined) return { type: 'custom', name: tool.name, ...tool.custom };
  const described = tool.description === undefined ? {} : { description: tool.description };
  return {
    type: 'function',
    name: tool.name,
    ...described,
    // Absent is null here, which not every server of this format reads.
    parameters: tool.parameters ?? { type: 'object', properties: {} },
    // Strict is the default here and nowhere else: schemas that were not written for it would be refused.
    strict: tool.strict ?? false,
  };
}

function choiceOf({ toolChoice, tools }: NeutralRequest): JsonValue | undefined {
  if (toolChoice?.type !== 'tool') return toolChoice?.type;
  const { name } = toolChoice;
  const custom = tools?.some((tool) => tool.name === name && tool.custom !== undefined) ?? false;
  return { type: custom ? 'custom' : 'function', name };
}

import type { JsonObject } from '../../../kernel/json.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralRequest, NeutralTool } from '../../neutral/request.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import type { ModelRules } from './model-rules.ts';
import type { Tool, ToolChoice, Turn } from './wire.ts';

export interface EncodedTools {
  tools?: Tool[];
  tool_choice?: ToolChoice;
}

export function encodeTools(
  request: NeutralRequest,
  turns: readonly Turn[],
  rules: ModelRules,
  encoding: Encoding,
): EncodedTools {
  if (request.tools === undefined || request.tools.length === 0) {
    encoding.failure ??= missingTool(request);
    if (request.toolChoice?.type === 'auto') lose(encoding, 'tool_choice', 'unsupported');
    return historyTools(turns);
  }
  encoding.failure ??= missingTool(request);
  const tools = request.tools.map((tool, i) => encodeTool(tool, i, encoding));
  const choice = toolChoice(request, rules, encoding);
  return choice === null ? { tools } : { tools, tool_choice: choice };
}

function encodeTool(tool: NeutralTool, index: number, encoding: Encoding): Tool {
  // Anthropic's strict mode refuses schemas that OpenAI's takes (minimum, maxLength…), so it is not asked for.
  if (tool.strict === true) lose(encoding, `tools[${index}].function.strict`, 'unsupported');
  const encoded: Tool = { name: tool.name, input_schema: inputSchema(tool.parameters) };
  if (tool.description !== undefined) encoded.description = tool.description;
  if (tool.cache !== undefined) encoded.cache_control = tool.cache;
  return encoded;
}

/** The schema whole; `type` is the one thing that Anthropic insists on. */
function inputSchema(parameters: JsonObject | undefined): JsonObject {
  if (parameters === undefined) return { type: 'object', properties: {} };
  return parameters.type === undefined ? { type: 'object', ...parameters } : parameters;
}

function toolChoice(request: NeutralRequest, rules: ModelRules, encoding: Encoding): ToolChoice | null {
  const choice = request.toolChoice ?? { type: 'auto' };
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true as const } : {};
  switch (choice.type) {
    case 'none':
      return { type: 'none' };
    case 'auto':
      return request.toolChoice === undefined && request.parallelToolCalls !== false
        ? null
        : { type: 'auto', ...single };
    case 'required':
    case 'tool':
      if (rules.forcedTool === 'refused') {
        refuse(
          encoding,
          'tool_choice',
          "This model cannot be made to call a tool: use 'auto' or 'none', or another model.",
        );
      }
      return choice.type === 'tool' ? { type: 'tool', name: choice.name, ...single } : { type: 'any', ...single };
  }
}

/**
 * Anthropic refuses a history with tool calls when no tools are given; OpenAI does not. So the called names are
 * declared, with any arguments, and calling them is forbidden: what the caller asked for.
 */
function historyTools(turns: readonly Turn[]): EncodedTools {
  const names = new Set<string>();
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue;
    for (const block of turn.content) {
      if (block.type === 'tool_use' && typeof block.name === 'string') names.add(block.name);
    }
  }
  if (names.size === 0) return {};
  return {
    tools: [...names].map((name) => ({ name, input_schema: { type: 'object', properties: {} } })),
    tool_choice: { type: 'none' },
  };
}

import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralRequest, NeutralTool } from '../../neutral/request.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import { wireName } from './function-name.ts';
import type { FunctionCallingConfig, FunctionDeclaration, GenerateContentBody } from './wire.ts';

type EncodedTools = Pick<GenerateContentBody, 'tools' | 'toolConfig'>;

export function encodeTools(request: NeutralRequest, encoding: Encoding): EncodedTools {
  const { tools, toolChoice, responseFormat } = request;
  if (tools === undefined || tools.length === 0) {
    encoding.failure ??= missingTool(request);
    if (toolChoice?.type === 'auto') lose(encoding, 'tool_choice', 'unsupported');
    return {};
  }
  const formatted = responseFormat !== undefined && responseFormat.type !== 'text';
  if (formatted && !encoding.rules.formatBesideTools) {
    // Tools that may not be called can as well be left out.
    if (toolChoice?.type === 'none') return {};
    const message = 'This model cannot be held to a response format while it has tools: leave one of them out.';
    refuse(encoding, 'response_format', message);
  }
  encoding.failure ??= missingTool(request);
  if (request.parallelToolCalls === false) lose(encoding, 'parallel_tool_calls', 'unsupported');
  const encoded: EncodedTools = {
    tools: [{ functionDeclarations: tools.map((tool, i) => encodeTool(tool, i, encoding)) }],
  };
  const choice = callingConfig(toolChoice);
  if (choice !== null) encoded.toolConfig = { functionCallingConfig: choice };
  return encoded;
}

function encodeTool(tool: NeutralTool, index: number, encoding: Encoding): FunctionDeclaration {
  if (tool.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  if (tool.strict === true) lose(encoding, `tools[${index}].function.strict`, 'unsupported');
  const encoded: FunctionDeclaration = { name: wireName(tool.name) };
  if (tool.description !== undefined) encoded.description = tool.description;
  // The schema whole: `parameters`, Google's own form, knows neither $ref nor const and refuses what it does not know.
  if (tool.parameters !== undefined && takesSomething(tool.parameters)) {
    encoded.parametersJsonSchema =
      tool.parameters.type === undefined ? { type: 'object', ...tool.parameters } : tool.parameters;
  }
  return encoded;
}

/** An object without properties is refused; a tool without parameters has no schema here. */
function takesSomething(schema: JsonObject): boolean {
  if (isObject(schema.properties) && Object.keys(schema.properties).length > 0) return true;
  const inert = new Set(['type', 'properties', 'required', '$schema', 'title', 'description']);
  return Object.entries(schema).some(
    ([key, value]) => value !== undefined && !inert.has(key) && !(key === 'additionalProperties' && value === false),
  );
}

function callingConfig(choice: NeutralRequest['toolChoice']): FunctionCallingConfig | null {
  switch (choice?.type) {
    case undefined:
    case 'auto':
      return null;
    case 'none':
      return { mode: 'NONE' };
    case 'required':
      return { mode: 'ANY' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [wireName(choice.name)] };
  }
}

import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import type { ResponsesRequest, WireTool } from './wire.ts';

export interface DecodedTools {
  tools: NeutralTool[];
  choice: NeutralToolChoice | null;
  /** Tools that the provider runs itself, and forms of text that a function cannot hold to, by the name to list them. */
  beyond: [string, JsonValue][];
}

/** One text, as the argument of a function. */
const oneText: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

export function decodeTools(body: ResponsesRequest): DecodedTools {
  const tools: NeutralTool[] = [];
  const beyond = new Map<string, JsonValue[]>();
  for (const [index, tool] of (body.tools ?? []).entries()) {
    if (tool.type === 'function') tools.push(functionTool(tool));
    else if (tool.type === 'custom') {
      tools.push(customTool(tool));
      if (isGrammar(tool.format)) beyond.set(`tools[${index}].format`, [tool.format]);
    } else {
      const name = `tools.${tool.type}`;
      beyond.set(name, [...(beyond.get(name) ?? []), tool]);
    }
  }
  const { choice, offered } = decodeChoice(body.tool_choice, tools);
  return { tools: offered, choice, beyond: [...beyond] };
}

function functionTool(tool: WireTool): NeutralTool {
  const decoded: NeutralTool = { name: tool.name! };
  if (tool.description) decoded.description = tool.description;
  if (tool.parameters) decoded.parameters = tool.parameters;
  if (typeof tool.strict === 'boolean') decoded.strict = tool.strict;
  return decoded;
}

function customTool(tool: WireTool): NeutralTool {
  const { format } = tool;
  const described = [
    tool.description ?? '',
    // Who cannot hold the model to a grammar can still show it.
    isGrammar(format) && typeof format.definition === 'string'
      ? `The input must follow this ${typeof format.syntax === 'string' ? format.syntax : 'formal'} grammar:\n${format.definition}`
      : '',
  ].filter((text) => text !== '');
  return {
    name: tool.name!,
    ...(described.length > 0 && { description: described.join('\n\n') }),
    parameters: oneText,
    custom: { ...(isObject(format) && { format }), ...(tool.description && { description: tool.description }) },
  };
}

function isGrammar(format: JsonValue | undefined): format is JsonObject {
  return isObject(format) && format.type === 'grammar';
}

function decodeChoice(
  choice: ResponsesRequest['tool_choice'],
  tools: NeutralTool[],
): { choice: NeutralToolChoice | null; offered: NeutralTool[] } {
  if (choice === 'none' || choice === 'auto' || choice === 'required') {
    return { choice: { type: choice }, offered: tools };
  }
  if (!isObject(choice)) return { choice: null, offered: tools };
  if (choice.type !== 'allowed_tools') return { choice: { type: 'tool', name: String(choice.name) }, offered: tools };
  // Elsewhere there is no such list: what may not be called is not offered.
  const names = new Set((choice.tools as JsonObject[]).map((tool) => tool.name));
  const offered = tools.filter((tool) => names.has(tool.name));
  return { choice: { type: choice.mode === 'required' ? 'required' : 'auto' }, offered };
}

import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralRequest, NeutralResponseFormat, NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import { cleanUser, isGiven } from '../field-table.ts';
import type { ChatFunction, ChatRequest, ChatTool } from './wire.ts';

/* Fields whose place in the neutral form is not simply theirs. */

export function putMaxOutputTokens(request: NeutralRequest, body: ChatRequest): undefined {
  request.maxOutputTokens = (body.max_completion_tokens ?? body.max_tokens)!;
}

export function putTopK(request: NeutralRequest, { top_k: topK }: ChatRequest): 'vendor' | undefined {
  if (!isTopK(topK)) return 'vendor';
  request.topK = topK;
}

export function putStop(request: NeutralRequest, { stop }: ChatRequest): undefined {
  const words = typeof stop === 'string' ? [stop] : (stop ?? []);
  if (words.length > 0) request.stop = words;
}

export function putTools(request: NeutralRequest, body: ChatRequest): undefined {
  const tools = neutralTools(body);
  if (tools.length > 0) request.tools = tools;
}

export function putToolChoice(request: NeutralRequest, body: ChatRequest): undefined {
  const choice = neutralToolChoice(body);
  if (choice !== null) request.toolChoice = choice;
}

export function putResponseFormat(request: NeutralRequest, body: ChatRequest): undefined {
  const format = neutralFormat(body);
  if (format !== null) request.responseFormat = format;
}

export function putEffort(request: NeutralRequest, body: ChatRequest): undefined {
  request.reasoning = { effort: body.reasoning_effort! };
}

export function putUser(request: NeutralRequest, body: ChatRequest): undefined {
  const user = cleanUser(body.user);
  if (user !== null) request.user = user;
}

/** Only this dialect knows custom tools: they go back to it, and elsewhere count among what was lost. */
export function customTools(body: ChatRequest): [string, JsonValue][] {
  const beyond: [string, JsonValue][] = [];
  const custom = (body.tools ?? []).filter((tool: ChatTool) => tool.type === 'custom');
  if (custom.length > 0) beyond.push(['tools', custom]);
  const options = body.tool_choice;
  if (isObject(options) && (options.type === 'custom' || options.type === 'allowed_tools')) {
    beyond.push(['tool_choice', options]);
  }
  return beyond;
}

/** Not a parameter of OpenAI's, but of many that speak its format, and of Anthropic's. */
function isTopK(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}

function neutralTools(body: ChatRequest): NeutralTool[] {
  const tools: NeutralTool[] = [];
  for (const tool of body.tools ?? []) {
    if (tool.function !== undefined && tool.type === 'function')
      tools.push(neutralTool(tool.function, tool.cache_control));
  }
  for (const definition of body.functions ?? []) tools.push(neutralTool(definition, undefined));
  return tools;
}

function neutralTool(definition: ChatFunction, cache: JsonObject | undefined): NeutralTool {
  const tool: NeutralTool = { name: definition.name };
  if (isGiven(definition.description)) tool.description = definition.description;
  if (isGiven(definition.parameters)) tool.parameters = definition.parameters;
  if (isGiven(definition.strict)) tool.strict = definition.strict;
  if (isObject(cache)) tool.cache = cache;
  return tool;
}

function neutralToolChoice(body: ChatRequest): NeutralToolChoice | null {
  const choice = body.tool_choice ?? body.function_call;
  if (!isGiven(choice)) return null;
  if (typeof choice === 'string') return { type: choice };
  if (isObject(choice.function) && typeof choice.function.name === 'string')
    return { type: 'tool', name: choice.function.name };
  if (isObject(choice.allowed_tools)) return { type: choice.allowed_tools.mode === 'required' ? 'required' : 'auto' };
  if (typeof choice.name === 'string') return { type: 'tool', name: choice.name };
  return { type: 'required' };
}

function neutralFormat({ response_format: format }: ChatRequest): NeutralResponseFormat | null {
  switch (format?.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'json-object' };
    case 'json_schema': {
      const { name, schema, strict, description } = format.json_schema!;
      const neutral: NeutralResponseFormat = { type: 'json-schema', name, schema: schema ?? { type: 'object' } };
      if (isGiven(strict)) neutral.strict = strict;
      if (isGiven(description)) neutral.description = description;
      return neutral;
    }
    default:
      return null;
  }
}

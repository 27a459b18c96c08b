import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralRequest, NeutralResponseFormat, NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import { gatewayOnlyFields } from '../forward-body.ts';
import { checkRequest } from './check-request.ts';
import { decodeMessage } from './decode-messages.ts';
import { type ChatFunction, type ChatRequest, type ChatTool, openAiChatId } from './wire.ts';

export function decodeRequest(body: JsonObject): Result<NeutralRequest> {
  const checked = checkRequest(body);
  return checked.ok ? { ok: true, value: toNeutral(checked.value) } : checked;
}

/** Wire fields that have a place of their own in the neutral form. */
const neutralFields: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'stop',
  'n',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'reasoning_effort',
  'user',
]);

/** They change cost, speed or bookkeeping, never what is answered. */
const hintFields: ReadonlySet<string> = new Set([
  'metadata',
  'store',
  'service_tier',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'safety_identifier',
]);

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: ChatRequest): NeutralRequest {
  const request: NeutralRequest = {
    model: body.model,
    messages: body.messages.map(decodeMessage),
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
  };
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined;
  if (maxOutputTokens !== undefined) request.maxOutputTokens = maxOutputTokens;
  if (isGiven(body.temperature)) request.temperature = body.temperature;
  if (isGiven(body.top_p)) request.topP = body.top_p;
  if (isTopK(body.top_k)) request.topK = body.top_k;
  if (isGiven(body.frequency_penalty)) request.frequencyPenalty = body.frequency_penalty;
  if (isGiven(body.presence_penalty)) request.presencePenalty = body.presence_penalty;
  const stop = typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []);
  if (stop.length > 0) request.stop = stop;
  if (isGiven(body.n)) request.n = body.n;
  if (isGiven(body.seed)) request.seed = body.seed;
  if (isGiven(body.logprobs)) request.logprobs = body.logprobs;
  if (isGiven(body.top_logprobs)) request.topLogprobs = body.top_logprobs;
  if (isGiven(body.logit_bias)) request.logitBias = body.logit_bias;
  const tools = neutralTools(body);
  if (tools.length > 0) request.tools = tools;
  const choice = neutralToolChoice(body);
  if (choice !== null) request.toolChoice = choice;
  if (isGiven(body.parallel_tool_calls)) request.parallelToolCalls = body.parallel_tool_calls;
  const format = neutralFormat(body);
  if (format !== null) request.responseFormat = format;
  if (isGiven(body.reasoning_effort)) request.reasoning = { effort: body.reasoning_effort };
  const user = userOf(body);
  if (user !== null) request.user = user;
  const { hints, extension } = leftOver(body);
  if (hints !== null) request.hints = hints;
  if (extension !== null) request.extensions = { [openAiChatId]: extension };
  return request;
}

/** The caller's `user` as ledger and log may keep it, or null. */
export function userOf(body: Pick<ChatRequest, 'user'>): string | null {
  if (!body.user) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go (S23)
  const clean = body.user.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  return clean === '' ? null : clean;
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
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

function leftOver(body: ChatRequest): { hints: JsonObject | null; extension: JsonObject | null } {
  const hints: [string, JsonValue][] = [];
  const extension: [string, JsonValue][] = [];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined || value === null || gatewayOnlyFields.has(name)) continue;
    if (hintFields.has(name)) hints.push([name, value]);
    else if (!neutralFields.has(name) || (name === 'top_k' && !isTopK(value))) extension.push([name, value]);
  }
  // Only this dialect knows custom tools: they go back to it, and elsewhere count among what was lost.
  const custom = (body.tools ?? []).filter((tool: ChatTool) => tool.type === 'custom');
  if (custom.length > 0) extension.push(['tools', custom]);
  const options = body.tool_choice;
  if (isObject(options) && (options.type === 'custom' || options.type === 'allowed_tools')) {
    extension.push(['tool_choice', options]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return {
    hints: hints.length > 0 ? Object.fromEntries(hints) : null,
    extension: extension.length > 0 ? Object.fromEntries(extension) : null,
  };
}

import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralRequest, NeutralResponseFormat, NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  type Check,
  type Checked,
  type Complaint,
  checkFields,
  cleanUser,
  complain,
  fieldTable,
  functionName,
  integerIn,
  isGiven,
  judged,
  numberIn,
  object,
  oneOf,
  optional,
  required,
  string,
  stringOf,
  turnsOf,
  within,
} from '../fields.ts';
import { messages } from './decode-messages.ts';
import type { ChatFunction, ChatRequest } from './wire.ts';

const toolsMax = 128;

const functionDefinition: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'name'");
  return (
    required(value, 'name', functionName, 'the name of the function') ??
    optional(value, 'description', string) ??
    optional(value, 'parameters', object) ??
    optional(value, 'strict', boolean)
  );
};

const customDefinition: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'name'");
  return (
    required(value, 'name', functionName, 'the name of the tool') ??
    optional(value, 'description', string) ??
    optional(value, 'format', object)
  );
};

const tool: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'type' and 'function'");
  if (value.type === 'custom') return required(value, 'custom', customDefinition, "an object with 'name'");
  if (value.type !== 'function') return complain('type', value.type, "'function' or 'custom'");
  return required(value, 'function', functionDefinition, "an object with 'name', 'description' and 'parameters'");
};

const tools = arrayOf(tool, 0, toolsMax, 'tools');
const functions = arrayOf(functionDefinition, 1, toolsMax, 'functions');

const named: Check = (value) =>
  isObject(value)
    ? required(value, 'name', functionName, 'the name of a tool')
    : complain('', value, "an object with 'name'");

const allowedTools: Check = (value) =>
  isObject(value)
    ? (required(value, 'mode', oneOf('auto', 'required'), "'auto' or 'required'") ??
      required(value, 'tools', arrayOf(object, 0, toolsMax, 'tools'), 'the tools to choose from'))
    : complain('', value, "an object with 'mode' and 'tools'");

const choiceSend = `'none', 'auto', 'required' or {"type":"function","function":{"name":…}}`;

const toolChoice: Check = (value) => {
  if (value === 'none' || value === 'auto' || value === 'required') return null;
  if (!isObject(value)) return complain('', value, choiceSend);
  switch (value.type) {
    case 'function':
      return required(value, 'function', named, "an object with 'name'");
    case 'custom':
      return required(value, 'custom', named, "an object with 'name'");
    case 'allowed_tools':
      return required(value, 'allowed_tools', allowedTools, "an object with 'mode' and 'tools'");
    default:
      return complain('type', value.type, "'function', 'custom' or 'allowed_tools'");
  }
};

const functionCallChoice: Check = (value) => {
  if (value === 'none' || value === 'auto') return null;
  return isObject(value) ? named(value) : complain('', value, `'none', 'auto' or {"name":…}`);
};

const jsonSchema: Check = (value) =>
  isObject(value)
    ? (required(value, 'name', functionName, 'a name for the format') ??
      optional(value, 'schema', object) ??
      optional(value, 'description', string) ??
      optional(value, 'strict', boolean))
    : complain('', value, "an object with 'name' and 'schema'");

const responseFormat: Check = (value) => {
  const send = `{"type":"text"}, {"type":"json_object"} or {"type":"json_schema","json_schema":{…}}`;
  if (!isObject(value)) return complain('', value, send);
  switch (value.type) {
    case 'text':
    case 'json_object':
      return null;
    case 'json_schema':
      return required(value, 'json_schema', jsonSchema, "an object with 'name' and 'schema'");
    default:
      return complain('type', value.type, "'text', 'json_object' or 'json_schema'");
  }
};

const penalty = numberIn(-2, 2);
const tokenLimit = integerIn(1, Number.MAX_SAFE_INTEGER);
// The published bounds are those of a 64-bit integer, which a double only comes near to.
const int64 = integerIn(-(2 ** 63), 2 ** 63);

const stop: Check = (value) => {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value) || value.length > 4)
    return complain('', value, 'a string or an array of at most 4 strings');
  const wrong = value.findIndex((item) => typeof item !== 'string');
  return wrong < 0 ? null : complain(`[${wrong}]`, value[wrong], 'a string');
};

const streamOptions: Check = (value) =>
  isObject(value)
    ? (optional(value, 'include_usage', boolean) ?? optional(value, 'include_obfuscation', boolean))
    : complain('', value, 'an object such as {"include_usage":true}');

const bias = numberIn(-100, 100);
const logitBias: Check = (value) => eachMember(value, bias, 'an object of token id to bias');

const metadataValue = stringOf(0, 512);
const metadata: Check = (value) => {
  if (isObject(value) && Object.keys(value).length > 16) return complain('', value, 'an object of at most 16 members');
  return eachMember(value, metadataValue, 'an object of strings');
};

function eachMember(value: JsonValue, check: Check, send: string): Complaint | null {
  if (!isObject(value)) return complain('', value, send);
  for (const name of Object.keys(value)) {
    const complaint = check(value[name]!);
    if (complaint !== null) return within(name.slice(0, 64), complaint);
  }
  return null;
}

const audio: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'voice' and 'format'");
  if (typeof value.voice !== 'string' && !isObject(value.voice))
    return complain('voice', value.voice, 'the name of a voice');
  return typeof value.format === 'string' ? null : complain('format', value.format, "a format such as 'wav' or 'mp3'");
};

const prediction: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'type' and 'content'");
  if (value.type !== 'content') return complain('type', value.type, "'content'");
  return typeof value.content === 'string' || Array.isArray(value.content)
    ? null
    : complain('content', value.content, 'a string or an array of text parts');
};

/* Where a field goes whose place in the neutral form is not simply its own. */

function putMaxOutputTokens(request: NeutralRequest, body: ChatRequest): undefined {
  request.maxOutputTokens = (body.max_completion_tokens ?? body.max_tokens)!;
}

/** Not a parameter of OpenAI's, but of many that speak its format, and of Anthropic's. */
function putTopK(request: NeutralRequest, { top_k: topK }: ChatRequest): 'vendor' | undefined {
  if (typeof topK !== 'number' || !Number.isInteger(topK) || topK <= 0) return 'vendor';
  request.topK = topK;
}

function putStop(request: NeutralRequest, { stop }: ChatRequest): undefined {
  const words = typeof stop === 'string' ? [stop] : (stop ?? []);
  if (words.length > 0) request.stop = words;
}

function putTools(request: NeutralRequest, body: ChatRequest): undefined {
  const tools: NeutralTool[] = [];
  for (const tool of body.tools ?? []) {
    if (tool.function !== undefined && tool.type === 'function')
      tools.push(neutralTool(tool.function, tool.cache_control));
  }
  for (const definition of body.functions ?? []) tools.push(neutralTool(definition, undefined));
  if (tools.length > 0) request.tools = tools;
}

function neutralTool(definition: ChatFunction, cache: JsonObject | undefined): NeutralTool {
  const tool: NeutralTool = { name: definition.name };
  if (isGiven(definition.description)) tool.description = definition.description;
  if (isGiven(definition.parameters)) tool.parameters = definition.parameters;
  if (isGiven(definition.strict)) tool.strict = definition.strict;
  if (isObject(cache)) tool.cache = cache;
  return tool;
}

function putToolChoice(request: NeutralRequest, body: ChatRequest): undefined {
  const choice = body.tool_choice ?? body.function_call;
  if (isGiven(choice)) request.toolChoice = neutralChoice(choice);
}

function neutralChoice(choice: string | JsonObject): NeutralToolChoice {
  if (typeof choice === 'string') return { type: choice as 'auto' | 'none' | 'required' };
  if (isObject(choice.function) && typeof choice.function.name === 'string')
    return { type: 'tool', name: choice.function.name };
  if (isObject(choice.allowed_tools)) return { type: choice.allowed_tools.mode === 'required' ? 'required' : 'auto' };
  if (typeof choice.name === 'string') return { type: 'tool', name: choice.name };
  return { type: 'required' };
}

function putResponseFormat(request: NeutralRequest, { response_format: format }: ChatRequest): undefined {
  switch (format?.type) {
    case 'text':
      request.responseFormat = { type: 'text' };
      return;
    case 'json_object':
      request.responseFormat = { type: 'json-object' };
      return;
    case 'json_schema': {
      const { name, schema, strict, description } = format.json_schema!;
      const neutral: NeutralResponseFormat = { type: 'json-schema', name, schema: schema ?? { type: 'object' } };
      if (isGiven(strict)) neutral.strict = strict;
      if (isGiven(description)) neutral.description = description;
      request.responseFormat = neutral;
    }
  }
}

function putEffort(request: NeutralRequest, body: ChatRequest): undefined {
  request.reasoning = { effort: body.reasoning_effort! };
}

function putUser(request: NeutralRequest, body: ChatRequest): undefined {
  const user = cleanUser(body.user);
  if (user !== null) request.user = user;
}

/** Only this dialect knows custom tools: they go back to it, and elsewhere count among what was lost. */
export function customTools({ tools, tool_choice: choice }: ChatRequest): [string, JsonValue][] {
  const custom = tools?.filter((tool) => tool.type === 'custom') ?? [];
  const beyond: [string, JsonValue][] = custom.length > 0 ? [['tools', custom]] : [];
  if (isObject(choice) && (choice.type === 'custom' || choice.type === 'allowed_tools')) {
    beyond.push(['tool_choice', choice]);
  }
  return beyond;
}

const modelName = stringOf(1, 256);
const fallbacks = arrayOf(modelName, 0, 16, 'model names');
const choices = integerIn(1, 128);

/** What is not here is kept, and forwarded as it came to those who speak this dialect. */
export const requestFields = fieldTable<ChatRequest>({
  model: [modelName, 'read', modelName],
  messages: [messages, 'read', turnsOf('content', 1)],
  stream: [boolean, 'read', boolean],
  stream_options: [streamOptions, 'read', streamOptions],
  max_tokens: [tokenLimit, putMaxOutputTokens, tokenLimit],
  max_completion_tokens: [tokenLimit, putMaxOutputTokens, tokenLimit],
  temperature: [numberIn(0, 2), 'temperature'],
  top_p: [numberIn(0, 1), 'topP'],
  top_k: [anyJson, putTopK],
  frequency_penalty: [penalty, 'frequencyPenalty'],
  presence_penalty: [penalty, 'presencePenalty'],
  stop: [stop, putStop],
  n: [choices, 'n', choices],
  seed: [int64, 'seed'],
  logprobs: [boolean, 'logprobs'],
  top_logprobs: [integerIn(0, 20), 'topLogprobs'],
  logit_bias: [logitBias, 'logitBias'],
  tools: [tools, putTools],
  tool_choice: [toolChoice, putToolChoice],
  parallel_tool_calls: [boolean, 'parallelToolCalls'],
  functions: [functions, putTools],
  function_call: [functionCallChoice, putToolChoice],
  response_format: [responseFormat, putResponseFormat],
  reasoning_effort: [oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'), putEffort],
  user: [stringOf(0, 256), putUser],
  metadata: [metadata, 'hint'],
  store: [boolean, 'hint'],
  // Providers have tiers of their own, so any word passes.
  service_tier: [string, 'hint'],
  prediction: [prediction, 'hint'],
  prompt_cache_key: [string, 'hint'],
  prompt_cache_retention: [anyJson, 'hint'],
  prompt_cache_options: [anyJson, 'hint'],
  safety_identifier: [stringOf(0, 64), 'hint'],
  verbosity: [oneOf('low', 'medium', 'high'), 'vendor'],
  modalities: [arrayOf(string, 0, 8, 'strings'), 'vendor'],
  audio: [audio, 'vendor'],
  web_search_options: [object, 'vendor'],
  models: [fallbacks, 'read', fallbacks],
});

/**
 * Types, bounds and combinations of a chat request, by the published description; the first fault found names its
 * field. Null means absent, as there, except for `model` and `messages`. The body is the caller's itself, not a copy, so
 * unknown fields stay.
 */
export function checkRequest(body: JsonObject): Result<Checked<ChatRequest>> {
  const complaint = checkFields(requestFields, body, requiredFields) ?? combinations(body);
  return judged(requestFields, body, requiredFields, complaint);
}

const requiredFields: ReadonlyMap<string, string> = new Map([
  ['model', 'the name of a model (GET /v1/models lists them)'],
  ['messages', 'an array of at least one message'],
]);

function combinations(body: JsonObject): Complaint | null {
  const { max_tokens: old, max_completion_tokens: current } = body;
  if (typeof old === 'number' && typeof current === 'number' && old !== current) {
    return complain('max_tokens', old, `the same as 'max_completion_tokens' (${current}), or only one of the two`);
  }
  if (typeof body.top_logprobs === 'number' && body.logprobs !== true) {
    return complain('top_logprobs', body.top_logprobs, "'logprobs': true beside it, or leave it out");
  }
  if (isObject(body.stream_options) && body.stream !== true) {
    return complain('stream_options', body.stream_options, "'stream': true beside it, or leave it out");
  }
  const { tool_choice: choice } = body;
  return choice === 'required' || isObject(choice) ? choiceFitsTools(choice, body) : null;
}

/** A choice that forces a tool needs that tool: an upstream's own complaint would come late and name less. */
function choiceFitsTools(choice: 'required' | JsonObject, { tools }: JsonObject): Complaint | null {
  const offered = Array.isArray(tools) ? tools : [];
  if (offered.length === 0) return complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const kind = choice.type;
  const wanted = nameIn(choice, kind);
  const names = offered.map((offer) => (isObject(offer) ? nameIn(offer, kind) : null));
  if (names.includes(wanted)) return null;
  return within('tool_choice', complain(`${kind}.name`, wanted ?? undefined, "the name of one of 'tools'"));
}

function nameIn(holder: JsonObject, kind: string): string | null {
  const inner = holder[kind];
  return isObject(inner) && typeof inner.name === 'string' ? inner.name : null;
}

/**
 * The first thing that a request asks for and only OpenAI's formats can say, with why it cannot be done elsewhere;
 * null when there is none.
 */
export function openAiAlone(request: NeutralRequest): { field: string; message: string } | null {
  if ((request.n ?? 1) > 1) {
    return { field: 'n', message: 'The provider of this model gives one choice at a time.' };
  }
  if (request.logprobs === true || (request.topLogprobs ?? 0) > 0) {
    return { field: 'logprobs', message: 'The provider of this model gives no log probabilities.' };
  }
  const openai = request.extensions?.['openai-chat'];
  const modalities = openai?.modalities ?? request.hints?.modalities;
  if (Array.isArray(modalities) && modalities.includes('audio')) {
    return { field: 'modalities', message: 'The provider of this model does not answer in audio here.' };
  }
  if (openai?.web_search_options !== undefined || request.hints?.web_search_options !== undefined) {
    const message = 'Web search in the answer is not available for this model here.';
    return { field: 'web_search_options', message };
  }
  return null;
}

import type { Failure } from '../../../kernel/failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  listIn,
  objectIn,
  objectsIn,
} from '../../../kernel/json.ts';
import { customTool } from '../../neutral/custom-tool.ts';
import { bodySchema, type Complaint } from '../../neutral/described-check.ts';
import type {
  NeutralReasoning,
  NeutralRequest,
  NeutralResponseFormat,
  NeutralTool,
  NeutralToolChoice,
} from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import { fallbackEntries, fallbackNames } from '../fallback-models.ts';
import { type Checked, checkFields, fieldTable, judged, writtenFields } from '../field-table.ts';
import { asIs, firstTexts, from, tokenLimit } from '../taken-fields.ts';
import { messages } from './decode-messages.ts';
import { type ChatFunction, type ChatRequest, openAiChatId, schemaOfMode } from './wire.ts';

/** OpenAI takes 128 and refuses more itself; other providers take more. */
const toolsMax = 1_024;

const functionDefinition = v.members("an object with 'name'", {
  name: v.needed(v.functionName, 'the name of the function'),
  description: v.string,
  parameters: v.object,
  strict: v.boolean,
});

const customDefinition = v.members("an object with 'name'", {
  name: v.needed(v.functionName, 'the name of the tool'),
  description: v.string,
  format: v.object,
});

const toolSend = "an object with 'type' and 'function'";
const definitionSend = "an object with 'name', 'description' and 'parameters'";
const tool = v.byType(toolSend, "'function', 'custom', 'web_search', 'web_fetch', 'file_search' or 'mcp'", {
  function: v.members(toolSend, { function: v.needed(functionDefinition, definitionSend) }),
  custom: v.members(toolSend, { custom: v.needed(customDefinition, "an object with 'name'") }),
  // Tools of newer formats: the answering server runs them.
  web_search: null,
  web_fetch: null,
  file_search: null,
  mcp: null,
});

const tools = v.arrayOf(tool, 0, toolsMax, 'tools');
const functions = v.arrayOf(functionDefinition, 1, toolsMax, 'functions');

const named = v.needed(
  v.members("an object with 'name'", { name: v.needed(v.functionName, 'the name of a tool') }),
  "an object with 'name'",
);

const allowedSend = "an object with 'mode' and 'tools'";
const allowedTools = v.members(allowedSend, {
  mode: v.needed(v.oneOf('auto', 'required'), "'auto' or 'required'"),
  tools: v.needed(v.arrayOf(v.object, 0, toolsMax, 'tools'), 'the tools to choose from'),
});

const choiceSend = `'none', 'auto', 'required' or {"type":"function","function":{"name":…}}`;
const toolChoice = v.wordOr(
  // Google's `validated`: Copilot CLI sends it to models whose names begin with `gemini`. `any` is Mistral's `required`.
  ['none', 'auto', 'required', 'validated', 'any'],
  v.byType(choiceSend, "'function', 'custom' or 'allowed_tools'", {
    function: v.members(choiceSend, { function: named }),
    custom: v.members(choiceSend, { custom: named }),
    allowed_tools: v.members(choiceSend, { allowed_tools: v.needed(allowedTools, allowedSend) }),
  }),
);

const functionCallChoice = v.wordOr(
  ['none', 'auto'],
  v.members(`'none', 'auto' or {"name":…}`, { name: v.needed(v.functionName, 'the name of a tool') }),
);

const jsonSchemaSend = "an object with 'name' and 'schema'";
const jsonSchema = v.members(jsonSchemaSend, {
  name: v.needed(v.functionName, 'a name for the format'),
  schema: v.object,
  description: v.string,
  strict: v.boolean,
});

const formatSend = `{"type":"text"}, {"type":"json_object"} or {"type":"json_schema","json_schema":{…}}`;
const responseFormat = v.byType(formatSend, "'text', 'json_object' or 'json_schema'", {
  text: null,
  json_object: null,
  json_schema: v.members(formatSend, { json_schema: v.needed(jsonSchema, jsonSchemaSend) }),
});

const penalty = v.numberIn(-2, 2);
const limit = v.integerIn(1, Number.MAX_SAFE_INTEGER);
/** 0 (watsonx) and -1 (LM Studio, llama.cpp) ask for as many tokens as the model may write. */
const vendorsLimit = v.integerIn(-1, Number.MAX_SAFE_INTEGER);
// The published bounds are those of a 64-bit integer, which a double only comes near to.
const int64 = v.integerIn(-(2 ** 63), 2 ** 63);

const stop = v.textOr(v.arrayOf(v.string, 0, 4, 'strings, or a string'));

const streamOptions = v.members('an object such as {"include_usage":true}', {
  include_usage: v.boolean,
  include_obfuscation: v.boolean,
});

const logitBias = v.mapOf(v.numberIn(-100, 100), Number.POSITIVE_INFINITY, 'token id to bias');

const audio = v.members("an object with 'voice' and 'format'", {
  voice: v.needed(v.textOr(v.object), 'the name of a voice'),
  format: v.needed(v.string, "a format such as 'wav' or 'mp3'"),
});

const prediction = v.byType("an object with 'type' and 'content'", "'content'", {
  content: v.members("an object with 'type' and 'content'", {
    content: v.needed(
      v.textOr(v.arrayOf(v.anyJson, 0, Number.POSITIVE_INFINITY, 'text parts')),
      'a string or text parts',
    ),
  }),
});

/* Where a field goes whose place in the neutral form differs from its own. */

function putMaxOutputTokens(request: NeutralRequest, body: ChatRequest): undefined {
  const limit = body.max_completion_tokens ?? body.max_tokens;
  if (v.isGiven(limit)) request.maxOutputTokens = limit;
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
  for (const [at, tool] of (body.tools ?? []).entries()) {
    if (tool.function !== undefined && tool.type === 'function')
      tools.push(neutralTool(tool.function, tool.cache_control));
    else if (tool.custom !== undefined && tool.type === 'custom')
      tools.push(flatCustomTool(tool.custom, `tools[${at}].custom`));
  }
  for (const definition of body.functions ?? []) tools.push(neutralTool(definition, undefined));
  const allowed = allowedNames(body.tool_choice);
  const offered = allowed === null ? tools : tools.filter(({ name }) => allowed.includes(name));
  if (offered.length > 0) request.tools = offered;
}

/** Elsewhere there is no such list: what may not be called is not offered. Null: all may be called. */
function allowedNames(choice: ChatRequest['tool_choice']): string[] | null {
  if (!isObject(choice) || !isObject(choice.allowed_tools)) return null;
  return objectsIn(choice.allowed_tools.tools).map((tool) =>
    jsonText(objectIn(tool.function ?? tool.custom ?? tool).name),
  );
}

function neutralTool(definition: ChatFunction, cache: JsonObject | undefined): NeutralTool {
  const tool: NeutralTool = { name: definition.name };
  if (v.isGiven(definition.description)) tool.description = definition.description;
  if (v.isGiven(definition.parameters)) tool.parameters = definition.parameters;
  if (v.isGiven(definition.strict)) tool.strict = definition.strict;
  if (isObject(cache)) tool.cache = cache;
  return tool;
}

/** Grammars are one level deeper than in Responses, whose form the neutral one has. */
function flatCustomTool({ format, ...custom }: JsonObject & { name: string }, path: string): NeutralTool {
  const flat = isObject(format) && isObject(format.grammar) ? { type: 'grammar', ...format.grammar } : format;
  const tool = customTool({ ...custom, ...(isObject(flat) && { format: flat }) });
  return { ...tool, custom: { ...tool.custom, of: openAiChatId, path } };
}

function putToolChoice(request: NeutralRequest, body: ChatRequest): undefined {
  const choice = body.tool_choice ?? body.function_call;
  if (v.isGiven(choice)) request.toolChoice = neutralChoice(choice);
}

function neutralChoice(choice: string | JsonObject): NeutralToolChoice {
  if (choice === 'validated') return { type: 'auto' };
  if (choice === 'any') return { type: 'required' };
  if (typeof choice === 'string') return { type: choice as 'auto' | 'none' | 'required' };
  for (const named of [choice.function, choice.custom])
    if (isObject(named) && typeof named.name === 'string') return { type: 'tool', name: named.name };
  if (isObject(choice.allowed_tools)) return { type: choice.allowed_tools.mode === 'required' ? 'required' : 'auto' };
  if (typeof choice.name === 'string') return { type: 'tool', name: choice.name };
  return { type: 'required' };
}

function putResponseFormat(request: NeutralRequest, { response_format: format }: ChatRequest): undefined {
  if (!v.isGiven(format)) return;
  if (format.type === 'json_schema') {
    const { name, schema, strict, description } = format.json_schema;
    const neutral: NeutralResponseFormat = { type: 'json-schema', name, schema: schema ?? { type: 'object' } };
    if (v.isGiven(strict)) neutral.strict = strict;
    if (v.isGiven(description)) neutral.description = description;
    request.responseFormat = neutral;
    return;
  }
  const schema = schemaOfMode(format);
  if (schema !== null) request.responseFormat = { type: 'json-schema', name: 'answer', schema };
  else request.responseFormat = { type: format.type === 'text' ? 'text' : 'json-object' };
}

function putReasoning(request: NeutralRequest, body: ChatRequest): undefined {
  const reasoning = reasoningOf(body);
  if (reasoning !== null) request.reasoning = reasoning;
}

/** How much to think: in OpenAI's word, or as clients of OpenRouter (`reasoning`) and LiteLLM (`thinking`) say it. */
export function reasoningOf({ reasoning_effort: effort, reasoning, thinking }: JsonObject): NeutralReasoning | null {
  // Groq's word for thoughts of Qwen's models.
  if (typeof effort === 'string') return { effort: effort === 'default' ? 'medium' : effort };
  if (isObject(reasoning)) {
    if (reasoning.enabled === false) return { effort: 'none' };
    const { effort: word, max_tokens: budget } = reasoning;
    if (typeof word === 'string' && efforts.includes(word)) return { effort: word };
    return budgetOf(budget) ?? (reasoning.enabled === true ? { effort: 'medium' } : null);
  }
  if (!isObject(thinking)) return null;
  if (thinking.type === 'disabled') return { effort: 'none' };
  if (thinking.type === 'adaptive') return { effort: 'medium' };
  return thinking.type === 'enabled' ? (budgetOf(thinking.budget_tokens) ?? { effort: 'medium' }) : null;
}

function budgetOf(tokens: JsonValue | undefined): NeutralReasoning | null {
  return Number.isSafeInteger(tokens) && Number(tokens) > 0 ? { budgetTokens: Number(tokens) } : null;
}

function putUser(request: NeutralRequest, body: ChatRequest): undefined {
  const user = v.cleanUser(body.user);
  if (user !== null) request.user = user;
}

const efforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const modelName = v.stringOf(1, 256);
const choices = v.integerIn(1, 128);

/** Other fields are kept, and forwarded unchanged to targets of this dialect. */
export const requestFields = fieldTable<ChatRequest>({
  model: [modelName, 'read', null, modelName],
  messages: [messages, 'read', null, v.turnsOf('content', 1)],
  stream: [v.boolean, 'read', null, v.boolean],
  stream_options: [streamOptions, 'read', null, streamOptions],
  max_tokens: [limit, putMaxOutputTokens, null, vendorsLimit],
  max_completion_tokens: [limit, putMaxOutputTokens, tokenLimit(), vendorsLimit],
  temperature: [v.numberIn(0, 2), 'temperature'],
  top_p: [v.numberIn(0, 1), 'topP'],
  top_k: [v.anyJson, putTopK, from('topK')],
  frequency_penalty: [penalty, 'frequencyPenalty'],
  presence_penalty: [penalty, 'presencePenalty'],
  stop: [stop, putStop, from('stop', firstTexts(4))],
  n: [choices, 'n', asIs, choices],
  seed: [int64, 'seed'],
  // By Mistral's SDKs.
  random_seed: [int64, 'seed', null],
  logprobs: [v.boolean, 'logprobs'],
  top_logprobs: [v.integerIn(0, 20), 'topLogprobs'],
  logit_bias: [logitBias, 'logitBias'],
  tools: [tools, putTools],
  tool_choice: [toolChoice, putToolChoice],
  // By the encoder: it is refused where there are no tools.
  parallel_tool_calls: [v.boolean, 'parallelToolCalls', null],
  functions: [functions, putTools],
  function_call: [functionCallChoice, putToolChoice],
  response_format: [responseFormat, putResponseFormat],
  reasoning_effort: [v.oneOf(...efforts, 'default'), putReasoning],
  reasoning: [v.anyJson, putReasoning],
  thinking: [v.anyJson, putReasoning],
  // OpenAI refuses a longer one.
  user: [v.stringOf(0, 256), putUser, from('user', { fit: (user: string) => (user.length <= 64 ? user : undefined) })],
  metadata: [v.object, 'hint'],
  store: [v.boolean, 'hint'],
  // Providers have different tiers, so any word passes.
  service_tier: [v.string, 'hint'],
  prediction: [prediction, 'hint'],
  prompt_cache_key: [v.string, 'hint'],
  prompt_cache_retention: [v.anyJson, 'hint'],
  prompt_cache_options: [v.anyJson, 'hint'],
  safety_identifier: [v.stringOf(0, 128), 'hint'],
  verbosity: [v.oneOf('low', 'medium', 'high'), 'vendor'],
  modalities: [v.arrayOf(v.string, 0, 8, 'strings'), 'vendor'],
  audio: [audio, 'vendor'],
  web_search_options: [v.object, 'vendor'],
  models: [fallbackNames, 'read', null, fallbackNames],
  fallbacks: [fallbackEntries, 'read', null, fallbackEntries],
});

export const encodedFields = writtenFields(requestFields);

/**
 * Types, bounds and combinations of a chat request, by the published description; the first fault found names its
 * field. Null means absent, as there, except for `model` and `messages`. The body is the caller's itself, not a copy, so
 * unknown fields stay.
 */
export function checkRequest(body: JsonObject): Checked<ChatRequest> | Failure {
  const complaint = checkFields(requestFields, body, requiredFields) ?? combinations(body);
  // Most bodies are valid, and enter nothing more.
  if (complaint === null) return { body: body as ChatRequest, vendors: null };
  return judged(requestFields, body, requiredFields, complaint);
}

const requiredFields: ReadonlyMap<string, string> = new Map([
  ['model', 'the name of a model (GET /v1/models lists them)'],
  ['messages', 'an array of at least one message'],
]);

function combinations(body: JsonObject): Complaint | null {
  const { max_tokens: old, max_completion_tokens: current } = body;
  if (typeof old === 'number' && typeof current === 'number' && old !== current) {
    return v.complain('max_tokens', old, `the same as 'max_completion_tokens' (${current}), or only one of the two`);
  }
  if (typeof body.top_logprobs === 'number' && body.logprobs !== true) {
    return v.complain('top_logprobs', body.top_logprobs, "'logprobs': true with it, or leave it out");
  }
  if (isObject(body.stream_options) && body.stream !== true) {
    return v.complain('stream_options', body.stream_options, "'stream': true with it, or leave it out");
  }
  const { tool_choice: choice } = body;
  return choice === 'required' || isObject(choice) ? choiceFitsTools(choice, body) : null;
}

/** A choice that forces a tool needs that tool: an upstream's complaint would come late and name less. */
function choiceFitsTools(choice: 'required' | JsonObject, { tools }: JsonObject): Complaint | null {
  const offered = listIn(tools);
  if (offered.length === 0) return v.complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const kind = choice.type;
  const name = nameIn(choice, kind);
  const names = offered.map((offer) => (isObject(offer) ? nameIn(offer, kind) : null));
  if (names.includes(name)) return null;
  return v.within('tool_choice', v.complain(`${kind}.name`, name ?? undefined, "the name of one of 'tools'"));
}

function nameIn(holder: JsonObject, kind: string): string | null {
  const inner = holder[kind];
  return isObject(inner) && typeof inner.name === 'string' ? inner.name : null;
}

/**
 * The first thing that a request asks for and only OpenAI's formats can say, with why it cannot be done elsewhere;
 * null when there is none.
 */
export function openAiAlone(
  request: Pick<NeutralRequest, 'n' | 'logprobs' | 'topLogprobs' | 'hints' | 'extensions'>,
): { field: string; message: string } | null {
  if ((request.n ?? 1) > 1) {
    return { field: 'n', message: 'The provider of this model gives one choice per request. Leave n out, or send 1.' };
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

/** Schema of such a body for `/openapi.json`. */
export const requestSchema = () => bodySchema(requestFields, requiredFields);

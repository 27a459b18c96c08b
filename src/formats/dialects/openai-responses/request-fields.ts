import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, listIn } from '../../../kernel/json.ts';
import { customTool, isGrammar } from '../../neutral/custom-tool.ts';
import { bodySchema, type Complaint, type JsonSchema } from '../../neutral/described-check.ts';
import type { NeutralRequest, NeutralResponseFormat, NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import { fallbackEntries, fallbackNames } from '../fallback-models.ts';
import { type Checked, checkFields, fieldTable, judged, writtenFields } from '../field-table.ts';
import { from, tokenLimit } from '../taken-fields.ts';
import { clientKind } from './client-tools.ts';
import { input, orphanOutput, reasoning, text } from './input-fields.ts';
import { callersSearch, flatName, isCallersSearch, offeredTools } from './offered-tools.ts';
import type { ResponsesRequest, WireTool } from './wire.ts';

/** Codex and its servers bring more than chat's 128. */
const toolsMax = 1_024;
const toolName = v.stringOf(1, 128);

const typeSend = "a string such as 'function'";
// The provider's tools have neither a name nor a form in common.
const callable = {
  function: v.members(typeSend, {
    name: v.needed(toolName, 'the name of the function'),
    description: v.string,
    parameters: v.object,
    strict: v.boolean,
  }),
  custom: v.members(typeSend, {
    name: v.needed(toolName, 'the name of the tool'),
    description: v.string,
    format: v.object,
  }),
};
const toolsWithin = v.arrayOf(v.byType(typeSend, typeSend, callable, 'pass'), 0, toolsMax, 'tools');
const namespace = v.members(typeSend, {
  name: v.needed(toolName, 'the name of the namespace'),
  description: v.string,
  tools: v.needed(toolsWithin, 'the tools of the namespace'),
});
const tool = v.byType(typeSend, typeSend, { ...callable, namespace }, 'pass');

const tools = v.arrayOf(tool, 0, toolsMax, 'tools');

const choiceSend = `'none', 'auto', 'required' or {"type":"function","name":…}`;
const named = v.members(choiceSend, { name: v.needed(toolName, 'the name of a tool'), namespace: v.string });
const allowed = v.byType(choiceSend, typeSend, { function: named, custom: named, namespace: named }, 'pass');
const toolChoice = v.wordOr(
  ['none', 'auto', 'required'],
  v.byType(
    choiceSend,
    "'function', 'custom', 'allowed_tools' or the type of a provider's tool",
    {
      function: named,
      custom: named,
      allowed_tools: v.members(choiceSend, {
        mode: v.needed(v.oneOf('auto', 'required'), "'auto' or 'required'"),
        tools: v.needed(v.arrayOf(allowed, 0, toolsMax, 'tools'), 'the tools to choose from'),
      }),
    },
    'pass',
  ),
);

/** Parts of the answer that a caller asks for: one that other dialects' answers have too. */
export const outputLogprobs = 'message.output_text.logprobs';

export function requestsLogprobs({ include, top_logprobs: top }: JsonObject): boolean {
  return (Array.isArray(include) && include.includes(outputLogprobs)) || (typeof top === 'number' && top > 0);
}

function putLogprobs(request: NeutralRequest, body: ResponsesRequest): undefined {
  if (requestsLogprobs(body)) request.logprobs = true;
  const top = body.top_logprobs ?? 0;
  if (top > 0) request.topLogprobs = top;
}

function putResponseFormat(request: NeutralRequest, body: ResponsesRequest): undefined {
  const format = neutralFormat(body);
  if (format !== null) request.responseFormat = format;
}

function neutralFormat({ text }: ResponsesRequest): NeutralResponseFormat | null {
  const format = text?.format;
  switch (format?.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'json-object' };
    case 'json_schema': {
      const neutral: NeutralResponseFormat = { type: 'json-schema', name: format.name, schema: format.schema };
      if (v.isGiven(format.strict)) neutral.strict = format.strict;
      if (v.isGiven(format.description)) neutral.description = format.description;
      return neutral;
    }
    default:
      return null;
  }
}

function putReasoning(request: NeutralRequest, body: ResponsesRequest): undefined {
  const { effort, generate_summary: earlier, summary = earlier } = body.reasoning ?? {};
  if (!v.isGiven(effort) && !v.isGiven(summary)) return;
  request.reasoning = { ...(v.isGiven(effort) && { effort }), ...(v.isGiven(summary) && { summary }) };
}

const modelName = v.stringOf(1, 256);
const outputLimit = v.integerIn(1, Number.MAX_SAFE_INTEGER);
const responseId = v.stringOf(1, 512);
const conversationId = v.textOr(
  v.members("an id or an object with 'id'", { id: v.needed(responseId, 'the id of a conversation') }),
);
const items = v.arrayOf(v.object, 0, Number.POSITIVE_INFINITY, 'items');
const itemsOrText = v.textOr(items);

/** Other fields are kept, and forwarded unchanged to targets of this dialect. */
export const requestFields = fieldTable<ResponsesRequest>({
  model: [modelName, 'read', null, modelName],
  input: [input, 'read', null, itemsOrText],
  instructions: [v.string, 'read'],
  stream: [v.boolean, 'read', null, v.boolean],
  stream_options: [v.anyJson, 'read'],
  max_output_tokens: [
    outputLimit,
    (request, body) => {
      if (v.isGiven(body.max_output_tokens)) request.maxOutputTokens = body.max_output_tokens;
    },
    // The least that OpenAI takes.
    tokenLimit(16),
    outputLimit,
  ],
  temperature: [v.numberIn(0, 2), 'temperature'],
  top_p: [v.numberIn(0, 1), 'topP'],
  top_logprobs: [v.integerIn(0, 20), putLogprobs, from('topLogprobs')],
  include: [v.arrayOf(v.string, 0, 64, 'strings'), putLogprobs],
  // Both by decodeTools, since each says something of the other.
  tools: [tools, 'read'],
  tool_choice: [toolChoice, 'read'],
  parallel_tool_calls: [v.boolean, 'parallelToolCalls'],
  truncation: [
    v.oneOf('auto', 'disabled'),
    (request, body) => {
      if (body.truncation === 'auto') request.truncation = 'auto';
    },
    from('truncation'),
  ],
  text: [text, putResponseFormat],
  reasoning: [reasoning, putReasoning],
  user: [
    v.stringOf(0, 256),
    (request, body) => {
      const user = v.cleanUser(body.user);
      if (user !== null) request.user = user;
    },
    from('user'),
  ],
  metadata: [v.object, 'hint'],
  service_tier: [v.string, 'hint'],
  prompt_cache_key: [v.string, 'hint'],
  prompt_cache_retention: [v.anyJson, 'hint'],
  prompt_cache_options: [v.anyJson, 'hint'],
  safety_identifier: [v.stringOf(0, 128), 'hint'],
  // These say what is kept, and what kept it continues: inference/families/responses handles them before a conversion does.
  store: [v.boolean, 'read'],
  background: [v.boolean, 'read', null, v.boolean],
  previous_response_id: [responseId, 'read', null, responseId],
  conversation: [conversationId, 'read'],
  prompt: [v.anyJson, 'read'],
  models: [fallbackNames, 'read', null, fallbackNames],
  fallbacks: [fallbackEntries, 'read', null, fallbackEntries],
});

export const encodedFields = writtenFields(requestFields);

interface DecodedTools {
  tools: NeutralTool[];
  choice: NeutralToolChoice | null;
  /** Tools that the provider runs itself, and forms of text that a function cannot hold to, by the name to list them. */
  beyond: [string, JsonValue][];
}

export function decodeTools(body: ResponsesRequest): DecodedTools {
  const tools: NeutralTool[] = [];
  const beyond = new Map<string, JsonValue[]>();
  for (const { tool, namespace, path } of offeredTools(body)) {
    const decoded = tool.type === 'custom' ? customTool(tool) : functionTool(tool);
    tools.push({ ...decoded, name: flatName(tool.name, namespace) });
    if (tool.type === 'custom' && isGrammar(tool.format)) beyond.set(`${path}.format`, [tool.format]);
  }
  const search = callersSearch(body);
  if (search !== null) tools.push(functionTool(search as WireTool & { type: 'function' }));
  for (const tool of body.tools ?? []) {
    if (/^(?:function|custom|namespace)$/.test(tool.type) || isCallersSearch(tool) || clientKind(tool)) continue;
    const name = `tools.${jsonText(tool.type)}`;
    beyond.set(name, [...(beyond.get(name) ?? []), tool]);
  }
  const { choice, offered } = decodeChoice(body, tools);
  return { tools: offered, choice, beyond: [...beyond] };
}

function functionTool(tool: WireTool & { type: 'function' }): NeutralTool {
  const decoded: NeutralTool = { name: tool.name };
  if (tool.description) decoded.description = tool.description;
  if (tool.parameters) decoded.parameters = tool.parameters;
  if (typeof tool.strict === 'boolean') decoded.strict = tool.strict;
  return decoded;
}

function decodeChoice(
  body: ResponsesRequest,
  tools: NeutralTool[],
): { choice: NeutralToolChoice | null; offered: NeutralTool[] } {
  const choice = body.tool_choice;
  if (choice === 'none' || choice === 'auto' || choice === 'required') {
    return { choice: { type: choice }, offered: tools };
  }
  if (!isObject(choice)) return { choice: null, offered: tools };
  if (choice.type === 'function' || choice.type === 'custom' || clientKind(choice) !== null) {
    return { choice: { type: 'tool', name: flatNamesOf(body, [choice])[0] ?? jsonText(choice.name) }, offered: tools };
  }
  // A tool of the provider's, or of this gateway.
  if (choice.type !== 'allowed_tools') return { choice: null, offered: tools };
  // Elsewhere there is no such list: what may not be called is not offered.
  const names = new Set(flatNamesOf(body, choice.tools as JsonObject[]));
  const offered = tools.filter((tool) => names.has(tool.name));
  return { choice: { type: choice.mode === 'required' ? 'required' : 'auto' }, offered };
}

/** Flat names of the tools that entries of a choice mean, each of them one tool, or all of a namespace. */
function flatNamesOf(body: JsonObject, entries: readonly JsonObject[]): string[] {
  const keys = new Set(
    entries.map(({ type, name, namespace }) => {
      if (type === 'namespace') return `all of ${jsonText(name)}`;
      // Tools that OpenAI defines have no name but their type.
      return v.isGiven(namespace) ? `${jsonText(name)} of ${jsonText(namespace)}` : jsonText(name ?? type);
    }),
  );
  const names = offeredTools(body)
    .filter(
      ({ tool: { name }, namespace }) =>
        keys.has(name) || keys.has(`${name} of ${namespace}`) || keys.has(`all of ${namespace}`),
    )
    .map(({ tool, namespace }) => flatName(tool.name, namespace));
  return entries.some(({ type }) => type === 'tool_search') ? [...names, 'tool_search'] : names;
}

/**
 * Types, bounds and combinations of a Responses request, by the published description; the first fault found names
 * its field. Null means absent, except for `model`. The body is the caller's itself, not a copy, so unknown fields stay.
 */
export function checkRequest(body: JsonObject): Checked<ResponsesRequest> | Failure {
  const required = bringsConversation(body) ? requiredBeside : requiredFields;
  const complaint = checkFields(requestFields, body, required) ?? conversation(body) ?? choiceFitsTools(body);
  return judged(requestFields, body, required, complaint);
}

const requiredBeside: ReadonlyMap<string, string> = new Map([
  ['model', 'the name of a model (GET /v1/models lists them)'],
]);
const requiredFields: ReadonlyMap<string, string> = new Map([
  ...requiredBeside,
  ['input', 'a string or an array of input items'],
]);

function bringsConversation(body: JsonObject): boolean {
  return v.isGiven(body.previous_response_id) || v.isGiven(body.conversation) || v.isGiven(body.prompt);
}

function conversation(body: JsonObject): Complaint | null {
  const given = body.input;
  if (bringsConversation(body) || !Array.isArray(given)) return null;
  if (given.length === 0 && !v.isGiven(body.instructions)) {
    return v.complain('input', given, 'a string or an array of at least one input item');
  }
  const orphan = orphanOutput(given);
  if (orphan === null) return null;
  return v.complain(`input[${orphan.index}].call_id`, orphan.callId, 'the call_id of an earlier call');
}

/** A choice that forces a tool needs that tool: an upstream's complaint would come late and name less. */
function choiceFitsTools(body: JsonObject): Complaint | null {
  const choice = body.tool_choice;
  // An earlier response may have brought the tools.
  if (typeof body.previous_response_id === 'string' || isObject(body.prompt)) return null;
  const offered = listIn(body.tools);
  if (choice === 'required' && offered.length === 0) {
    return v.complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  }
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const fits = offeredTools(body).some(({ tool }) => tool.type === choice.type && tool.name === choice.name);
  return fits ? null : v.within('tool_choice', v.complain('name', choice.name, "the name of one of 'tools'"));
}

/** Schema of such a body for `/openapi.json`. */
export function requestSchema(): JsonSchema {
  const choices = ['input', 'previous_response_id', 'conversation', 'prompt'].map((name) => ({ required: [name] }));
  return { ...bodySchema(requestFields, requiredBeside), anyOf: choices };
}

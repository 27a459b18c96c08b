import { isObject } from '../../../kernel/json.ts';
import type { NeutralRequest, NeutralResponseFormat } from '../../neutral/request.ts';
import { type Check, complain, within } from '../complaint.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  functionName,
  integerIn,
  numberIn,
  object,
  oneOf,
  optional,
  required,
  string,
  stringOf,
} from '../field-rules.ts';
import { cleanUser, fieldTable, isGiven } from '../field-table.ts';
import { input } from './check-input.ts';
import type { ResponsesRequest } from './wire.ts';

/** Codex and its servers bring more than chat's 128. */
const toolsMax = 1_024;
const toolName = stringOf(1, 128);

const tool: Check = (value) => {
  if (!isObject(value) || typeof value.type !== 'string') {
    return complain(isObject(value) ? 'type' : '', isObject(value) ? value.type : value, "a string such as 'function'");
  }
  switch (value.type) {
    case 'function':
      return (
        required(value, 'name', toolName, 'the name of the function') ??
        optional(value, 'description', string) ??
        optional(value, 'parameters', object) ??
        optional(value, 'strict', boolean)
      );
    case 'custom':
      return (
        required(value, 'name', toolName, 'the name of the tool') ??
        optional(value, 'description', string) ??
        optional(value, 'format', object)
      );
    // The provider's own tools have neither a name nor a form in common.
    default:
      return null;
  }
};

const tools = arrayOf(tool, 0, toolsMax, 'tools');

const toolChoice: Check = (value) => {
  if (typeof value === 'string') return oneOf('none', 'auto', 'required')(value);
  if (!isObject(value)) return complain('', value, `'none', 'auto', 'required' or {"type":"function","name":…}`);
  switch (value.type) {
    case 'function':
    case 'custom':
      return required(value, 'name', toolName, 'the name of a tool');
    case 'allowed_tools':
      return (
        required(value, 'mode', oneOf('auto', 'required'), "'auto' or 'required'") ??
        required(value, 'tools', arrayOf(object, 0, toolsMax, 'tools'), 'the tools to choose from')
      );
    default:
      return typeof value.type === 'string'
        ? null
        : complain('type', value.type, "'function', 'custom', 'allowed_tools' or the type of a provider's tool");
  }
};

const textFormat: Check = (value) => {
  const send = `{"type":"text"}, {"type":"json_object"} or {"type":"json_schema","name":…,"schema":{…}}`;
  if (!isObject(value)) return complain('', value, send);
  switch (value.type) {
    case 'text':
    case 'json_object':
      return null;
    case 'json_schema':
      return (
        required(value, 'name', functionName, 'a name for the format') ??
        required(value, 'schema', object, 'a JSON Schema') ??
        optional(value, 'strict', boolean) ??
        optional(value, 'description', string)
      );
    default:
      return complain('type', value.type, "'text', 'json_object' or 'json_schema'");
  }
};

const text: Check = (value) =>
  isObject(value)
    ? (optional(value, 'format', textFormat) ?? optional(value, 'verbosity', oneOf('low', 'medium', 'high')))
    : complain('', value, "an object with 'format' or 'verbosity'");

const reasoning: Check = (value) =>
  isObject(value)
    ? (optional(value, 'effort', oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')) ??
      optional(value, 'summary', oneOf('auto', 'concise', 'detailed', 'none')))
    : complain('', value, "an object with 'effort' or 'summary'");

/** An answer in the background goes on, and costs, when nobody is connected; and there is nowhere to fetch it from. */
const background: Check = (value) =>
  value === false ? null : complain('', value, "false, and 'stream': true for an answer that takes long");

const metadataMembersMax = 16;
const metadataValue = stringOf(0, 512);
const metadata: Check = (value) => {
  if (!isObject(value) || Object.keys(value).length > metadataMembersMax) {
    return complain('', value, `an object of at most ${metadataMembersMax} strings`);
  }
  for (const name of Object.keys(value)) {
    const complaint = metadataValue(value[name]!);
    if (complaint !== null) return within(name.slice(0, 64), complaint);
  }
  return null;
};

/** Parts of the answer that a caller asks for: one that other dialects' answers have too. */
export const outputLogprobs = 'message.output_text.logprobs';

export function asksLogprobs(body: ResponsesRequest): boolean {
  return (body.include ?? []).includes(outputLogprobs) || (body.top_logprobs ?? 0) > 0;
}

function putLogprobs(request: NeutralRequest, body: ResponsesRequest): undefined {
  if (asksLogprobs(body)) request.logprobs = true;
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
      const neutral: NeutralResponseFormat = { type: 'json-schema', name: format.name!, schema: format.schema! };
      if (isGiven(format.strict)) neutral.strict = format.strict;
      if (isGiven(format.description)) neutral.description = format.description;
      return neutral;
    }
    default:
      return null;
  }
}

function putReasoning(request: NeutralRequest, body: ResponsesRequest): undefined {
  const { effort, summary } = body.reasoning ?? {};
  if (!isGiven(effort) && !isGiven(summary)) return;
  request.reasoning = { ...(isGiven(effort) && { effort }), ...(isGiven(summary) && { summary }) };
}

/** What is not here is kept, and forwarded as it came to those who speak this dialect. */
export const requestFields = fieldTable<ResponsesRequest>({
  model: [stringOf(1, 256), 'read'],
  input: [input, 'read'],
  instructions: [string, 'read'],
  stream: [boolean, 'read'],
  stream_options: [anyJson, 'read'],
  max_output_tokens: [
    integerIn(1, Number.MAX_SAFE_INTEGER),
    (request, body) => {
      request.maxOutputTokens = body.max_output_tokens!;
    },
  ],
  temperature: [numberIn(0, 2), 'temperature'],
  top_p: [numberIn(0, 1), 'topP'],
  top_logprobs: [integerIn(0, 20), putLogprobs],
  include: [arrayOf(string, 0, 64, 'strings'), putLogprobs],
  // Both by decodeTools, since each says something of the other.
  tools: [tools, 'read'],
  tool_choice: [toolChoice, 'read'],
  parallel_tool_calls: [boolean, 'parallelToolCalls'],
  text: [text, putResponseFormat],
  reasoning: [reasoning, putReasoning],
  user: [
    stringOf(0, 256),
    (request, body) => {
      const user = cleanUser(body.user);
      if (user !== null) request.user = user;
    },
  ],
  metadata: [metadata, 'hint'],
  service_tier: [string, 'hint'],
  prompt_cache_key: [string, 'hint'],
  prompt_cache_retention: [anyJson, 'hint'],
  prompt_cache_options: [anyJson, 'hint'],
  safety_identifier: [stringOf(0, 64), 'hint'],
  // Ignored: nothing is kept here whatever it says.
  store: [boolean, 'read'],
  // False, or the check would not have passed it.
  background: [background, 'read'],
  // Native only, see nativeOnly.
  previous_response_id: [stringOf(1, 512), 'read'],
  conversation: [anyJson, 'read'],
  prompt: [anyJson, 'read'],
  models: [arrayOf(stringOf(1, 256), 0, 16, 'model names'), 'read'],
});

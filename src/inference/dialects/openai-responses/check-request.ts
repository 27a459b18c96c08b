import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { asFailure, type Check, type Complaint, complain, within } from '../complaint.ts';
import type { Result } from '../dialect.ts';
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
import { input, orphanOutput } from './check-input.ts';
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

/** A choice that forces a tool needs that tool: an upstream's own complaint would come late and name less. */
function choiceFitsTools(body: JsonObject): Complaint | null {
  const choice = body.tool_choice;
  // An earlier response may have brought the tools.
  if (typeof body.previous_response_id === 'string' || isObject(body.prompt)) return null;
  const offered = Array.isArray(body.tools) ? body.tools : [];
  if (choice === 'required' && offered.length === 0) {
    return complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  }
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const fits = offered.some((one) => isObject(one) && one.type === choice.type && one.name === choice.name);
  return fits ? null : within('tool_choice', complain('name', choice.name, "the name of one of 'tools'"));
}

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

/** Every parameter we know, by name. What is not here is kept and forwarded as it came. */
const parameters: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringOf(1, 256)],
  ['input', input],
  ['instructions', string],
  ['stream', boolean],
  ['max_output_tokens', integerIn(1, Number.MAX_SAFE_INTEGER)],
  ['temperature', numberIn(0, 2)],
  ['top_p', numberIn(0, 1)],
  ['top_logprobs', integerIn(0, 20)],
  ['tools', tools],
  ['tool_choice', toolChoice],
  ['parallel_tool_calls', boolean],
  ['text', text],
  ['reasoning', reasoning],
  ['include', arrayOf(string, 0, 64, 'strings')],
  ['metadata', metadata],
  ['store', boolean],
  ['background', background],
  ['previous_response_id', stringOf(1, 512)],
  ['service_tier', string],
  ['prompt_cache_key', string],
  ['safety_identifier', stringOf(0, 64)],
  ['user', stringOf(0, 256)],
  ['models', arrayOf(stringOf(1, 256), 0, 16, 'model names')],
]);

/**
 * Types, bounds and combinations of a Responses request, by the published description; the first fault found names
 * its field. Null means absent, except for `model`. The value is the body itself, not a copy, so unknown fields stay.
 */
export function checkRequest(body: JsonObject): Result<ResponsesRequest> {
  const complaint = check(body);
  return complaint === null
    ? { ok: true, value: body as ResponsesRequest }
    : { ok: false, failure: asFailure(complaint) };
}

function check(body: JsonObject): Complaint | null {
  if (body.model === undefined) return complain('model', undefined, 'the name of a model (GET /v1/models lists them)');
  for (const name in body) {
    const value = body[name];
    if (value === undefined || (value === null && name !== 'model')) continue;
    const complaint = (parameters.get(name) ?? anyJson)(value);
    if (complaint !== null) return within(name, complaint);
  }
  return conversation(body) ?? choiceFitsTools(body);
}

function conversation(body: JsonObject): Complaint | null {
  // They bring a conversation of their own.
  if (isGiven(body.previous_response_id) || isGiven(body.conversation) || isGiven(body.prompt)) return null;
  const given = body.input;
  if (!isGiven(given)) return complain('input', undefined, 'a string or an array of input items');
  if (!Array.isArray(given)) return null;
  if (given.length === 0 && !isGiven(body.instructions)) {
    return complain('input', given, 'a string or an array of at least one input item');
  }
  const orphan = orphanOutput(given);
  if (orphan === null) return null;
  return complain(`input[${orphan.index}].call_id`, orphan.callId, 'the call_id of a call that stands before it');
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

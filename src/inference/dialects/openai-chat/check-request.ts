import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { asFailure, type Check, type Complaint, complain, within } from '../complaint.ts';
import type { Result } from '../dialect.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  integerIn,
  numberIn,
  object,
  oneOf,
  optional,
  string,
  stringOf,
} from '../field-rules.ts';
import { messages } from './check-messages.ts';
import { choiceFitsTools, functionCallChoice, functions, responseFormat, toolChoice, tools } from './check-tools.ts';
import type { ChatRequest } from './wire.ts';

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

/** Every parameter we know, by name. What is not here is kept and forwarded as it came. */
const parameters: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringOf(1, 256)],
  ['messages', messages],
  ['stream', boolean],
  ['stream_options', streamOptions],
  ['max_tokens', tokenLimit],
  ['max_completion_tokens', tokenLimit],
  ['temperature', numberIn(0, 2)],
  ['top_p', numberIn(0, 1)],
  ['frequency_penalty', penalty],
  ['presence_penalty', penalty],
  ['stop', stop],
  ['n', integerIn(1, 128)],
  ['seed', int64],
  ['logprobs', boolean],
  ['top_logprobs', integerIn(0, 20)],
  ['logit_bias', logitBias],
  ['tools', tools],
  ['tool_choice', toolChoice],
  ['parallel_tool_calls', boolean],
  ['functions', functions],
  ['function_call', functionCallChoice],
  ['response_format', responseFormat],
  ['reasoning_effort', oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')],
  ['verbosity', oneOf('low', 'medium', 'high')],
  ['user', stringOf(0, 256)],
  ['metadata', metadata],
  ['store', boolean],
  // Providers have tiers of their own, so any word passes.
  ['service_tier', string],
  ['prediction', prediction],
  ['modalities', arrayOf(string, 0, 8, 'strings')],
  ['audio', audio],
  ['web_search_options', object],
  ['prompt_cache_key', string],
  ['safety_identifier', stringOf(0, 64)],
  ['models', arrayOf(stringOf(1, 256), 0, 16, 'model names')],
]);

/**
 * Types, bounds and combinations of a chat request, by the published description; the first fault found names its
 * field. Null means absent, as there, except for `model` and `messages`. The value is the body itself, not a copy, so
 * unknown fields stay.
 */
export function checkRequest(body: JsonObject): Result<ChatRequest> {
  const complaint = check(body);
  return complaint === null ? { ok: true, value: body as ChatRequest } : { ok: false, failure: asFailure(complaint) };
}

function check(body: JsonObject): Complaint | null {
  if (body.model === undefined) return complain('model', undefined, 'the name of a model (GET /v1/models lists them)');
  if (body.messages === undefined) return complain('messages', undefined, 'an array of at least one message');
  for (const name in body) {
    const value = body[name];
    if (value === undefined || (value === null && name !== 'model' && name !== 'messages')) continue;
    const complaint = (parameters.get(name) ?? anyJson)(value);
    if (complaint !== null) return within(name, complaint);
  }
  return combinations(body);
}

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
  return choiceFitsTools(body);
}

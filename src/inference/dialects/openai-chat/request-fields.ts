import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { type Check, type Complaint, complain, within } from '../complaint.ts';
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
import { fieldTable } from '../field-table.ts';
import { messages } from './check-messages.ts';
import { functionCallChoice, functions, responseFormat, toolChoice, tools } from './check-tools.ts';
import {
  putEffort,
  putMaxOutputTokens,
  putResponseFormat,
  putStop,
  putToolChoice,
  putTools,
  putTopK,
  putUser,
} from './decode-fields.ts';
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

/** What is not here is kept, and forwarded as it came to those who speak this dialect. */
export const requestFields = fieldTable<ChatRequest>({
  model: [stringOf(1, 256), 'read'],
  messages: [messages, 'read'],
  stream: [boolean, 'read'],
  stream_options: [streamOptions, 'read'],
  max_tokens: [tokenLimit, putMaxOutputTokens],
  max_completion_tokens: [tokenLimit, putMaxOutputTokens],
  temperature: [numberIn(0, 2), 'temperature'],
  top_p: [numberIn(0, 1), 'topP'],
  top_k: [anyJson, putTopK],
  frequency_penalty: [penalty, 'frequencyPenalty'],
  presence_penalty: [penalty, 'presencePenalty'],
  stop: [stop, putStop],
  n: [integerIn(1, 128), 'n'],
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
  models: [arrayOf(stringOf(1, 256), 0, 16, 'model names'), 'read'],
});

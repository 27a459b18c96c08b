import { isObject } from '../../../kernel/json.ts';
import type { NeutralRequest } from '../../neutral/request.ts';
import { type Check, complain } from '../complaint.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  integerIn,
  numberIn,
  object,
  oneOf,
  optional,
  required,
  string,
  stringOf,
} from '../field-rules.ts';
import { fieldTable } from '../field-table.ts';
import { messages, systemContent } from './check-messages.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { endUserOf } from './end-user.ts';
import type { Losses } from './losses.ts';
import type { CallerBody } from './request-wire.ts';

const tool: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'name' and 'input_schema'");
  const fault = optional(value, 'type', stringOf(1, 128)) ?? optional(value, 'cache_control', object);
  if (fault !== null) return fault;
  // Tools that Anthropic defines have whatever members they have.
  if (typeof value.type === 'string' && value.type !== 'custom') return optional(value, 'name', string);
  return (
    required(value, 'name', stringOf(1, 256), 'the name of the tool') ??
    optional(value, 'description', string) ??
    required(value, 'input_schema', object, 'a JSON Schema of the input, an object')
  );
};

const choiceType = oneOf('auto', 'any', 'tool', 'none');

const toolChoice: Check = (value) => {
  if (!isObject(value)) return complain('', value, 'an object such as {"type":"auto"}');
  return (
    required(value, 'type', choiceType, "'auto', 'any', 'tool' or 'none'") ??
    optional(value, 'disable_parallel_tool_use', boolean) ??
    (value.type === 'tool' ? required(value, 'name', stringOf(1, 256), 'the name of the tool to call') : null)
  );
};

const thinking: Check = (value) => {
  if (!isObject(value)) return complain('', value, 'an object such as {"type":"adaptive"}');
  const fault = required(value, 'type', string, "'enabled', 'adaptive' or 'disabled'");
  if (fault !== null || value.type !== 'enabled') return fault;
  return required(value, 'budget_tokens', integerIn(1, Number.MAX_SAFE_INTEGER), 'how many tokens it may think');
};

const metadata: Check = (value) =>
  isObject(value) ? optional(value, 'user_id', string) : complain('', value, 'an object such as {"user_id":"…"}');

const outputConfig: Check = (value) =>
  isObject(value)
    ? (optional(value, 'effort', string) ?? optional(value, 'format', object))
    : complain('', value, 'an object such as {"effort":"high"}');

/** `output_format` is what it was called while in beta. */
function putFormat(request: NeutralRequest, { output_config: config, output_format: beta }: CallerBody): undefined {
  const format = config?.format ?? beta;
  if (!isObject(format) || format.type !== 'json_schema' || !isObject(format.schema)) return;
  request.responseFormat = { type: 'json-schema', name: 'answer', schema: format.schema };
}

/** What is not here is kept and forwarded as it came: one 400 costs Claude Code six requests (clients.md §1). */
export const requestFields = fieldTable<CallerBody, Losses>({
  model: [stringOf(1, 256), 'read'],
  messages: [messages, 'read'],
  max_tokens: [
    // 0 fills the prompt cache and answers nothing.
    integerIn(0, Number.MAX_SAFE_INTEGER),
    (request, body) => {
      if (body.max_tokens) request.maxOutputTokens = body.max_tokens;
    },
  ],
  stream: [boolean, 'read'],
  system: [systemContent, 'read'],
  // Anthropic's own bound is 1; models behind other dialects take up to 2.
  temperature: [numberIn(0, 2), 'temperature'],
  top_p: [numberIn(0, 1), 'topP'],
  top_k: [
    integerIn(0, Number.MAX_SAFE_INTEGER),
    (request, body) => {
      if (body.top_k) request.topK = body.top_k;
    },
  ],
  stop_sequences: [
    arrayOf(string, 0, Number.POSITIVE_INFINITY, 'strings'),
    (request, body) => {
      if (body.stop_sequences!.length > 0) request.stop = body.stop_sequences!;
    },
  ],
  tools: [
    arrayOf(tool, 0, Number.POSITIVE_INFINITY, 'tools'),
    (request, body, losses) => {
      const tools = decodeTools(body, losses);
      if (tools.length > 0) request.tools = tools;
    },
  ],
  tool_choice: [toolChoice, (request, body) => decodeToolChoice(body, request)],
  // With output_config, which says how hard: by decodeReasoning.
  thinking: [thinking, 'read'],
  output_config: [outputConfig, putFormat],
  output_format: [anyJson, putFormat],
  metadata: [
    metadata,
    (request, body) => {
      const user = endUserOf(body);
      if (user !== null) request.user = user;
    },
  ],
  models: [arrayOf(stringOf(1, 256), 0, 16, 'model names'), 'read'],
});

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
  required,
  string,
  stringOf,
} from '../field-rules.ts';
import { messages, systemContent } from './check-messages.ts';
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

/** What is not here is kept and forwarded as it came: one 400 costs Claude Code six requests (clients.md §1). */
const parameters: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringOf(1, 256)],
  ['messages', messages],
  // 0 fills the prompt cache and answers nothing.
  ['max_tokens', integerIn(0, Number.MAX_SAFE_INTEGER)],
  ['stream', boolean],
  ['system', systemContent],
  // Anthropic's own bound is 1; models behind other dialects take up to 2.
  ['temperature', numberIn(0, 2)],
  ['top_p', numberIn(0, 1)],
  ['top_k', integerIn(0, Number.MAX_SAFE_INTEGER)],
  ['stop_sequences', arrayOf(string, 0, Number.POSITIVE_INFINITY, 'strings')],
  ['tools', arrayOf(tool, 0, Number.POSITIVE_INFINITY, 'tools')],
  ['tool_choice', toolChoice],
  ['thinking', thinking],
  ['metadata', metadata],
  ['output_config', outputConfig],
  ['models', arrayOf(stringOf(1, 256), 0, 16, 'model names')],
]);

const neverNull: ReadonlySet<string> = new Set(['model', 'messages', 'max_tokens']);

/** `answer`: a request for one. `count`: only for its number of tokens, so nothing bounds the output. */
export type RequestFor = 'answer' | 'count';

/**
 * Types and bounds of a Messages request; the first fault found names its field. The value is the body itself, not a
 * copy, so unknown fields stay.
 */
export function checkRequest(body: JsonObject, wanted: RequestFor): Result<CallerBody> {
  const complaint = check(body, wanted);
  return complaint === null ? { ok: true, value: body as CallerBody } : { ok: false, failure: asFailure(complaint) };
}

function check(body: JsonObject, wanted: RequestFor): Complaint | null {
  if (body.model === undefined) return complain('model', undefined, 'the name of a model (GET /v1/models lists them)');
  if (body.messages === undefined) return complain('messages', undefined, 'an array of at least one message');
  if (body.max_tokens === undefined && wanted === 'answer') {
    return complain('max_tokens', undefined, 'the largest number of tokens that the answer may have');
  }
  for (const name in body) {
    const value: JsonValue | undefined = body[name];
    if (value === undefined || (value === null && !neverNull.has(name))) continue;
    const complaint = (parameters.get(name) ?? anyJson)(value);
    if (complaint !== null) return within(name, complaint);
  }
  return null;
}

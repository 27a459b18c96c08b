import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralRequest, NeutralResponseFormat } from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import { gatewayOnlyFields } from '../forward-body.ts';
import { checkRequest } from './check-request.ts';
import { decodeInput } from './decode-input.ts';
import { decodeTools } from './decode-tools.ts';
import { openAiResponsesId, type ResponsesRequest } from './wire.ts';

export function decodeRequest(body: JsonObject): Result<NeutralRequest> {
  const checked = checkRequest(body);
  return checked.ok ? { ok: true, value: toNeutral(checked.value).request } : checked;
}

/** Fields that have a place of their own in the neutral form, or mean nothing to a conversation without state. */
const understood: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'user',
  // Ignored: nothing is kept here whatever it says.
  'store',
  // Native only (native-only.ts).
  'previous_response_id',
  'conversation',
  'prompt',
  // False, or the check would not have passed it.
  'background',
]);

/** They change cost, speed or bookkeeping, never what is answered. */
const hintFields: ReadonlySet<string> = new Set([
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'safety_identifier',
]);

/** Parts of the answer that a caller asks for: those that other dialects' answers have too. */
const encryptedThoughts = 'reasoning.encrypted_content';
export const outputLogprobs = 'message.output_text.logprobs';

export interface Decoded {
  request: NeutralRequest;
  /** Where each message stands in `input`; see `DecodedInput`. */
  origins: readonly number[];
}

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: ResponsesRequest): Decoded {
  const { messages, origins } = decodeInput(body.instructions ?? null, body.input ?? []);
  const request: NeutralRequest = {
    model: body.model,
    messages,
    stream: body.stream === true,
    includeUsage: true,
  };
  if (isGiven(body.max_output_tokens)) request.maxOutputTokens = body.max_output_tokens;
  if (isGiven(body.temperature)) request.temperature = body.temperature;
  if (isGiven(body.top_p)) request.topP = body.top_p;
  if (asksLogprobs(body)) request.logprobs = true;
  if (isGiven(body.top_logprobs) && body.top_logprobs > 0) request.topLogprobs = body.top_logprobs;
  const { tools, choice, beyond } = decodeTools(body);
  if (tools.length > 0) request.tools = tools;
  // A choice among tools that nobody else has is none.
  // A call that must be made, of tools that are all the provider's: whoever cannot make it has to say so.
  if (choice !== null && (tools.length > 0 || choice.type === 'required')) request.toolChoice = choice;
  if (isGiven(body.parallel_tool_calls)) request.parallelToolCalls = body.parallel_tool_calls;
  const format = neutralFormat(body);
  if (format !== null) request.responseFormat = format;
  const { effort, summary } = body.reasoning ?? {};
  if (isGiven(effort) || isGiven(summary)) {
    request.reasoning = { ...(isGiven(effort) && { effort }), ...(isGiven(summary) && { summary }) };
  }
  const user = userOf(body);
  if (user !== null) request.user = user;
  const { hints, extension } = leftOver(body, beyond);
  if (hints !== null) request.hints = hints;
  if (extension !== null) request.extensions = { [openAiResponsesId]: extension };
  return { request, origins };
}

export function asksLogprobs(body: ResponsesRequest): boolean {
  return (body.include ?? []).includes(outputLogprobs) || (body.top_logprobs ?? 0) > 0;
}

/** The caller's `user` as ledger and log may keep it, or null. */
export function userOf({ user }: ResponsesRequest): string | null {
  if (!user) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go (S23)
  const clean = user.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  return clean === '' ? null : clean;
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
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

function leftOver(
  body: ResponsesRequest,
  beyond: readonly [string, JsonValue][],
): { hints: JsonObject | null; extension: JsonObject | null } {
  const hints: [string, JsonValue][] = [];
  const extension: [string, JsonValue][] = [...beyond];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined || value === null || gatewayOnlyFields.has(name) || understood.has(name)) continue;
    // Codex sends an empty one with every request.
    if (isObject(value) && Object.keys(value).length === 0) continue;
    (hintFields.has(name) ? hints : extension).push([name, value]);
  }
  if (isGiven(body.text?.verbosity)) extension.push(['text.verbosity', body.text.verbosity]);
  const included = (body.include ?? []).filter((what) => what !== encryptedThoughts && what !== outputLogprobs);
  if (included.length > 0) extension.push(['include', included]);
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return {
    hints: hints.length > 0 ? Object.fromEntries(hints) : null,
    extension: extension.length > 0 ? Object.fromEntries(extension) : null,
  };
}

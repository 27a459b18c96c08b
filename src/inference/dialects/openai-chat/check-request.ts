import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { asFailure, type Complaint, complain } from '../complaint.ts';
import type { Result } from '../dialect.ts';
import { checkFields } from '../field-table.ts';
import { choiceFitsTools } from './check-tools.ts';
import { requestFields } from './request-fields.ts';
import type { ChatRequest } from './wire.ts';

/**
 * Types, bounds and combinations of a chat request, by the published description; the first fault found names its
 * field. Null means absent, as there, except for `model` and `messages`. The value is the body itself, not a copy, so
 * unknown fields stay.
 */
export function checkRequest(body: JsonObject): Result<ChatRequest> {
  const complaint = check(body);
  return complaint === null ? { ok: true, value: body as ChatRequest } : { ok: false, failure: asFailure(complaint) };
}

const neverNull: ReadonlySet<string> = new Set(['model', 'messages']);

function check(body: JsonObject): Complaint | null {
  if (body.model === undefined) return complain('model', undefined, 'the name of a model (GET /v1/models lists them)');
  if (body.messages === undefined) return complain('messages', undefined, 'an array of at least one message');
  return checkFields(requestFields, body, neverNull) ?? combinations(body);
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

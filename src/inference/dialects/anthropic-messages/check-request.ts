import type { JsonObject } from '../../../kernel/json.ts';
import { asFailure, type Complaint, complain } from '../complaint.ts';
import type { Result } from '../dialect.ts';
import { checkFields } from '../field-table.ts';
import { requestFields } from './request-fields.ts';
import type { CallerBody } from './request-wire.ts';

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
  return checkFields(requestFields, body, neverNull);
}

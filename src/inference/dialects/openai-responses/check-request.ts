import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { asFailure, type Complaint, complain, within } from '../complaint.ts';
import type { Result } from '../dialect.ts';
import { checkFields, isGiven } from '../field-table.ts';
import { orphanOutput } from './check-input.ts';
import { requestFields } from './request-fields.ts';
import type { ResponsesRequest } from './wire.ts';

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

const neverNull: ReadonlySet<string> = new Set(['model']);

function check(body: JsonObject): Complaint | null {
  if (body.model === undefined) return complain('model', undefined, 'the name of a model (GET /v1/models lists them)');
  return checkFields(requestFields, body, neverNull) ?? conversation(body) ?? choiceFitsTools(body);
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

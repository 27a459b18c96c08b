import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject } from '../../../kernel/json.ts';
import type { InputItem, ResponsesRequest } from './wire.ts';

/**
 * Why a request can be answered by providers of this format alone: what they keep, or run themselves, that a
 * conversion would leave out at the cost of the answer. Null when any provider can answer.
 */
export function nativeOnly(body: ResponsesRequest): Failure | null {
  if (isGiven(body.previous_response_id)) {
    return invalid(
      'previous_response_id',
      "No provider of this model keeps responses: resend the whole conversation in 'input' in place of 'previous_response_id'.",
    );
  }
  if (isGiven(body.conversation)) {
    return invalid(
      'conversation',
      "No provider of this model keeps conversations: resend the whole conversation in 'input' in place of 'conversation'.",
    );
  }
  if (isGiven(body.prompt)) {
    return invalid('prompt', "No provider of this model keeps prompts: send the text itself as 'input'.");
  }
  const choice = body.tool_choice;
  if (isObject(choice) && choice.type !== 'function' && choice.type !== 'custom' && choice.type !== 'allowed_tools') {
    return invalid('tool_choice', "The tool that 'tool_choice' demands is not run by any provider of this model.");
  }
  const at = Array.isArray(body.input) ? body.input.findIndex(isReference) : -1;
  if (at < 0) return null;
  return invalid(
    `input[${at}]`,
    `'input[${at}]' refers to an item that no provider of this model keeps: send the item itself, as clients do with "store": false.`,
  );
}

/** To a text or a call. A thought may be missing: nothing but what the model makes of its own history depends on it. */
function isReference(item: InputItem): boolean {
  const refers = item.type === 'item_reference' || (!isGiven(item.type) && item.role === undefined);
  return refers && !(typeof item.id === 'string' && item.id.startsWith('rs_'));
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

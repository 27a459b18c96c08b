import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { NeutralRequest } from '../../neutral/request.ts';
import { isGiven, placeFields } from '../field-table.ts';
import { decodeInput } from './decode-input.ts';
import { decodeTools } from './decode-tools.ts';
import { outputLogprobs, requestFields } from './request-fields.ts';
import { openAiResponsesId, type ResponsesRequest } from './wire.ts';

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
  const { tools, choice, beyond } = decodeTools(body);
  if (tools.length > 0) request.tools = tools;
  // A choice among tools that nobody else has is none.
  // A call that must be made, of tools that are all the provider's: whoever cannot make it has to say so.
  if (choice !== null && (tools.length > 0 || choice.type === 'required')) request.toolChoice = choice;
  const left = placeFields(requestFields, request, body, undefined, [...beyond, ...partsBeyond(body)], saysSomething);
  if (left.hints !== null) request.hints = left.hints;
  if (left.vendor !== null) request.extensions = { [openAiResponsesId]: left.vendor };
  return { request, origins };
}

/** Codex sends an empty object with every request. */
function saysSomething(value: JsonValue): boolean {
  return !isObject(value) || Object.keys(value).length > 0;
}

const encryptedThoughts = 'reasoning.encrypted_content';

/** Members of fields that are understood in part. */
function partsBeyond({ text, include }: ResponsesRequest): [string, JsonValue][] {
  const beyond: [string, JsonValue][] = [];
  if (isGiven(text?.verbosity)) beyond.push(['text.verbosity', text.verbosity]);
  const included = (include ?? []).filter((what) => what !== encryptedThoughts && what !== outputLogprobs);
  if (included.length > 0) beyond.push(['include', included]);
  return beyond;
}

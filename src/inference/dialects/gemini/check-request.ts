import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { asFailure, type Check, type Complaint, complain } from '../complaint.ts';
import type { Result } from '../dialect.ts';
import { arrayOf, boolean, integerIn, numberIn, object, oneOf, optional, required, string } from '../field-rules.ts';
import { checkFields } from '../field-table.ts';

const anyLength = Number.POSITIVE_INFINITY;
const anyInteger = integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const positive = integerIn(1, Number.MAX_SAFE_INTEGER);

const blob: Check = (value) =>
  isObject(value)
    ? (required(value, 'mimeType', string, 'the media type') ?? required(value, 'data', string, 'base64'))
    : complain('', value, "an object with 'mimeType' and 'data'");

const fileData: Check = (value) =>
  isObject(value)
    ? (required(value, 'fileUri', string, 'where the file is') ?? optional(value, 'mimeType', string))
    : complain('', value, "an object with 'fileUri'");

const functionCall: Check = (value) =>
  isObject(value)
    ? (required(value, 'name', string, 'the name of the function') ??
      optional(value, 'args', object) ??
      optional(value, 'id', string))
    : complain('', value, "an object with 'name' and 'args'");

const nestedPart: Check = (value) =>
  isObject(value) ? optional(value, 'inlineData', blob) : complain('', value, "an object with 'inlineData'");

const functionResponse: Check = (value) =>
  isObject(value)
    ? (required(value, 'name', string, 'the name of the function') ??
      required(value, 'response', object, 'an object') ??
      optional(value, 'id', string) ??
      optional(value, 'parts', arrayOf(nestedPart, 0, anyLength, 'parts')))
    : complain('', value, "an object with 'name' and 'response'");

/** A part of a kind that is not known here goes to Google as it came. */
const part: Check = (value) =>
  isObject(value)
    ? (optional(value, 'text', string) ??
      optional(value, 'thought', boolean) ??
      optional(value, 'thoughtSignature', string) ??
      optional(value, 'inlineData', blob) ??
      optional(value, 'fileData', fileData) ??
      optional(value, 'functionCall', functionCall) ??
      optional(value, 'functionResponse', functionResponse))
    : complain('', value, 'an object such as {"text":"…"}');

const content: Check = (value) =>
  isObject(value)
    ? (optional(value, 'role', oneOf('user', 'model', 'function')) ??
      required(value, 'parts', arrayOf(part, 1, anyLength, 'parts'), 'an array of at least one part'))
    : complain('', value, "an object with 'role' and 'parts'");

const system: Check = (value) =>
  isObject(value)
    ? required(value, 'parts', arrayOf(part, 0, anyLength, 'parts'), 'an array of parts')
    : complain('', value, "an object with 'parts'");

const declaration: Check = (value) =>
  isObject(value)
    ? (required(value, 'name', string, 'the name of the function') ??
      optional(value, 'description', string) ??
      optional(value, 'parameters', object) ??
      optional(value, 'parametersJsonSchema', object))
    : complain('', value, "an object with 'name'");

const tool: Check = (value) =>
  isObject(value)
    ? optional(value, 'functionDeclarations', arrayOf(declaration, 0, anyLength, 'declarations'))
    : complain('', value, "an object with 'functionDeclarations'");

const callingConfig: Check = (value) =>
  isObject(value)
    ? (optional(value, 'mode', oneOf('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED')) ??
      optional(value, 'allowedFunctionNames', arrayOf(string, 0, anyLength, 'names')))
    : complain('', value, 'an object such as {"mode":"AUTO"}');

const toolConfig: Check = (value) =>
  isObject(value) ? optional(value, 'functionCallingConfig', callingConfig) : complain('', value, 'an object');

const thinkingConfig: Check = (value) =>
  isObject(value)
    ? (optional(value, 'includeThoughts', boolean) ??
      optional(value, 'thinkingBudget', anyInteger) ??
      optional(value, 'thinkingLevel', string))
    : complain('', value, 'an object such as {"thinkingBudget":1024}');

const generationConfig: Check = (value) =>
  isObject(value)
    ? (optional(value, 'temperature', numberIn(0, 2)) ??
      optional(value, 'topP', numberIn(0, 1)) ??
      optional(value, 'topK', numberIn(0, Number.MAX_SAFE_INTEGER)) ??
      optional(value, 'maxOutputTokens', positive) ??
      optional(value, 'candidateCount', integerIn(1, 8)) ??
      optional(value, 'stopSequences', arrayOf(string, 0, anyLength, 'strings')) ??
      optional(value, 'seed', anyInteger) ??
      optional(value, 'presencePenalty', numberIn(-2, 2)) ??
      optional(value, 'frequencyPenalty', numberIn(-2, 2)) ??
      optional(value, 'responseMimeType', string) ??
      optional(value, 'responseSchema', object) ??
      optional(value, 'responseJsonSchema', object) ??
      optional(value, 'responseLogprobs', boolean) ??
      optional(value, 'logprobs', integerIn(0, 20)) ??
      optional(value, 'thinkingConfig', thinkingConfig))
    : complain('', value, 'an object');

/** `model` and `stream` are put in by the route, which has them from the path. */
const parameters: ReadonlyMap<string, readonly [Check]> = new Map<string, readonly [Check]>([
  ['model', [string]],
  ['stream', [boolean]],
  ['contents', [arrayOf(content, 1, anyLength, 'contents')]],
  ['systemInstruction', [system]],
  ['tools', [arrayOf(tool, 0, anyLength, 'tools')]],
  ['toolConfig', [toolConfig]],
  ['generationConfig', [generationConfig]],
]);

/** Types and bounds of a request; the first fault found names its field. The value is the body itself, not a copy. */
export function checkRequest(body: JsonObject): Result<JsonObject> {
  const complaint = check(body);
  return complaint === null ? { ok: true, value: body } : { ok: false, failure: asFailure(complaint) };
}

const neverNull: ReadonlySet<string> = new Set(['contents']);

function check(body: JsonObject): Complaint | null {
  if (body.contents === undefined) return complain('contents', undefined, 'an array of at least one content');
  return checkFields(parameters, body, neverNull) ?? responsesFollowCalls(body.contents as JsonObject[]);
}

/** Google refuses a response that answers nothing, and no other dialect can say one. */
function responsesFollowCalls(contents: readonly JsonObject[]): Complaint | null {
  const open = new Map<string, number>();
  for (const [c, { parts }] of contents.entries()) {
    for (const [p, { functionCall: call, functionResponse: response }] of (parts as JsonObject[]).entries()) {
      if (isObject(call)) open.set(String(call.name), (open.get(String(call.name)) ?? 0) + 1);
      if (!isObject(response)) continue;
      const left = (open.get(String(response.name)) ?? 0) - 1;
      const send = 'a response after the functionCall of that name that it answers';
      if (left < 0) return complain(`contents[${c}].parts[${p}].functionResponse`, response, send);
      open.set(String(response.name), left);
    }
  }
  return null;
}

import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralTool } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { effortAbove } from '../openai-chat/effort.ts';
import { flatFormat } from '../openai-chat/encode-request.ts';
import { openAiChatId } from '../openai-chat/wire.ts';
import { textsOf } from '../openai-metadata.ts';
import { encoderOf, type Taken, writeFields } from '../taken-fields.ts';
import { encodeInput } from './encode-messages.ts';
import { encodedFields, outputLogprobs } from './request-fields.ts';
import { openAiResponsesId } from './wire.ts';

const takes = [
  'messages',
  // `encodeInput` lists it once.
  'messages.name',
  'n',
  // Cut at in the answer.
  'stop',
  'logprobs',
  'tools',
  'tools.strict',
  'toolChoice',
  'responseFormat',
  'responseFormat.description',
  'reasoning',
  'reasoning.summary',
] as const;
type EncodedMembers = Taken<(typeof takes)[number]>;

/** Hints that this format has as well. */
const knownHints: ReadonlySet<string> = new Set(
  'metadata store service_tier prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier'.split(
    ' ',
  ),
);

/**
 * A neutral request as a Responses body. Losses have the names of chat's fields. Requests that would change the result
 * are refused (several choices, audio, a required search or call). Nothing is stored at the provider by default. It
 * knows no stop strings: the answer is cut at them here.
 */
export const encodeRequest = encoderOf({
  vendor: openAiResponsesId,
  takes,
  fields: encodedFields,
  hints: knownHints,
  borrows: { [openAiChatId]: new Set(['verbosity']) },
  encode,
});

function encode(request: EncodedMembers, target: EncodeTarget): EncodedRequest | Failure {
  const { items, losses, failure } = encodeInput(request.messages);
  const vendorFields = request.extensions?.[openAiResponsesId] ?? {};
  const missing = vendorTools(vendorFields).length > 0 ? null : missingTool(request);
  const refusal = failure ?? (items.length === 0 ? emptyInput : (missing ?? beyondThis(request)));
  if (refusal !== null) return refusal;
  const body: JsonObject = { model: target.model, input: items };
  writeFields(encodedFields, request, target, body, losses);
  Object.assign(body, encodeTools(request, vendorFields));
  put(body, 'text', textOf(request, vendorFields));
  const callers = request.reasoning?.above;
  const above = callers === undefined ? undefined : effortAbove(callers, target.model);
  const reasoning = reasoningOf(request, losses, above);
  put(body, 'reasoning', reasoning);
  put(body, 'include', includeOf(request, reasoning, vendorFields));
  putHints(body, request, losses);
  putExtensions(body, vendorFields);
  // Responses are kept by default, which a caller that did not ask for it does not expect.
  body.store ??= false;
  body.stream = target.stream;
  const stop = request.stop?.filter((text) => text !== '') ?? [];
  return {
    body,
    losses,
    ...(above !== undefined && above === callers && { recovered: ['output_config.effort'] }),
    ...(stop.length > 0 && { decode: { stop } }),
  };
}

const emptyInput = invalid(
  'messages',
  'The messages have no content. Send at least one with text, a picture or a tool result.',
);

function beyondThis(request: EncodedMembers): Failure | null {
  if ((request.n ?? 1) > 1)
    return invalid('n', 'The provider of this model gives one choice per request. Leave n out, or send 1.');
  const chat = request.extensions?.[openAiChatId];
  if (Array.isArray(chat?.modalities) && chat.modalities.includes('audio')) {
    return invalid('modalities', 'The provider of this model does not answer in audio. Leave audio out.');
  }
  if (chat?.web_search_options !== undefined) {
    return invalid('web_search_options', 'Web search in the answer is not available for this model here.');
  }
  return null;
}

/** Defines members, so `__proto__` stays a plain one (S21). */
function put(body: JsonObject, name: string, value: JsonValue | undefined): void {
  if (value === undefined) return;
  Object.defineProperty(body, name, { value, enumerable: true, configurable: true, writable: true });
}

function textOf(request: EncodedMembers, vendorFields: JsonObject): JsonObject | undefined {
  const text: JsonObject = {};
  if (request.responseFormat !== undefined) text.format = flatFormat(request.responseFormat);
  put(text, 'verbosity', vendorFields['text.verbosity'] ?? request.extensions?.[openAiChatId]?.verbosity);
  return Object.keys(text).length > 0 ? text : undefined;
}

/** A budget in tokens becomes the nearest of OpenAI's words, and a caller who sets one wants to see the thoughts. */
function reasoningOf({ reasoning }: EncodedMembers, losses: Loss[], above: string | undefined): JsonObject | undefined {
  if (reasoning === undefined) return undefined;
  const { effort, budgetTokens, summary } = reasoning;
  const wire: JsonObject = {};
  if (effort !== undefined) wire.effort = above ?? effort;
  else if (budgetTokens !== undefined) {
    losses.push({ field: 'thinking.budget_tokens', why: 'narrowed' });
    wire.effort = budgetTokens <= 2_048 ? 'low' : budgetTokens <= 8_192 ? 'medium' : 'high';
  }
  put(wire, 'summary', summary ?? (budgetTokens === undefined ? undefined : 'auto'));
  return Object.keys(wire).length > 0 ? wire : undefined;
}

function includeOf(
  request: EncodedMembers,
  reasoning: JsonObject | undefined,
  vendorFields: JsonObject,
): JsonValue[] | undefined {
  const include: JsonValue[] = Array.isArray(vendorFields.include) ? [...vendorFields.include] : [];
  // Nothing is stored, so the thoughts must come along to be of use in the next turn.
  if (reasoning !== undefined && reasoning.effort !== 'none') include.push('reasoning.encrypted_content');
  if (request.logprobs === true) include.push(outputLogprobs);
  return include.length > 0 ? include : undefined;
}

function putHints(body: JsonObject, request: EncodedMembers, losses: Loss[]): void {
  for (const [name, value] of Object.entries(request.hints ?? {})) {
    if (name === 'metadata') put(body, name, textsOf(value, losses) ?? undefined);
    else if (knownHints.has(name)) put(body, name, value);
  }
}

function putExtensions(body: JsonObject, vendorFields: JsonObject): void {
  for (const [name, value] of Object.entries(vendorFields)) {
    // `tools.…` and the like are restored where they belong.
    if (name.includes('.') || name === 'include' || Object.hasOwn(body, name)) continue;
    put(body, name, value);
  }
}

interface EncodedTools {
  tools?: JsonObject[];
  tool_choice?: JsonValue;
}

/** `vendorFields`: fields that this dialect's decoder kept, the provider's tools among them, as `tools.<type>`. */
function encodeTools(request: EncodedMembers, vendorFields: JsonObject): EncodedTools {
  const tools = [...(request.tools ?? []).map(encodeTool), ...vendorTools(vendorFields)];
  if (tools.length === 0) return {};
  const choice = choiceOf(request);
  return { tools, ...(choice !== undefined && { tool_choice: choice }) };
}

/** The provider's tools among the fields that this dialect's decoder kept. */
function vendorTools(vendorFields: JsonObject): JsonObject[] {
  const toolLists = Object.entries(vendorFields).filter(
    ([name, value]) => /^tools\.[^[]/.test(name) && Array.isArray(value),
  );
  return toolLists.flatMap(([, value]) => value as JsonObject[]);
}

function encodeTool(tool: NeutralTool): JsonObject {
  if (tool.custom !== undefined) {
    const { of: _, path: _path, ...custom } = tool.custom;
    return { type: 'custom', name: tool.name, ...custom };
  }
  const described = tool.description === undefined ? {} : { description: tool.description };
  return {
    type: 'function',
    name: tool.name,
    ...described,
    // Absent is null here, which not every server of this format reads.
    parameters: tool.parameters ?? { type: 'object', properties: {} },
    // Strict is the default here and nowhere else: schemas that were not written for it would be refused.
    strict: tool.strict ?? false,
  };
}

function choiceOf({ toolChoice, tools }: EncodedMembers): JsonValue | undefined {
  if (toolChoice?.type !== 'tool') return toolChoice?.type;
  const { name } = toolChoice;
  const custom = tools?.some((tool) => tool.name === name && tool.custom !== undefined) ?? false;
  return { type: custom ? 'custom' : 'function', name };
}

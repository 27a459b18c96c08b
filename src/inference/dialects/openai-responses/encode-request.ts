import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralRequest, NeutralResponseFormat, NeutralTool } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget, Result } from '../dialect.ts';
import { openAiChatId } from '../openai-chat/wire.ts';
import { textsOf } from '../openai-metadata.ts';
import { encodeInput } from './encode-messages.ts';
import { outputLogprobs } from './request-fields.ts';
import { openAiResponsesId } from './wire.ts';

/** The least that OpenAI takes. */
const outputTokensMin = 16;

/**
 * A neutral request as a Responses body. Losses have the names of chat's fields. Requests that would change the result
 * are refused (several choices, audio, a required search or call). Nothing is stored at the provider by default. It
 * knows no stop strings: the answer is cut at them here.
 */
export function encodeRequest(request: NeutralRequest, target: EncodeTarget): Result<EncodedRequest> {
  const { items, losses, failure } = encodeInput(request.messages);
  const own = request.extensions?.[openAiResponsesId] ?? {};
  const missing = ownTools(own).length > 0 ? null : missingTool(request);
  const refusal = failure ?? (items.length === 0 ? nothingSaid : (missing ?? beyondThis(request)));
  if (refusal !== null) return { ok: false, failure: refusal };
  const body: JsonObject = { model: target.model, input: items };
  put(body, 'max_output_tokens', outputLimit(request.maxOutputTokens, target.maxOutputTokens, losses));
  put(body, 'temperature', request.temperature);
  put(body, 'top_p', request.topP);
  put(body, 'top_logprobs', request.topLogprobs);
  Object.assign(body, encodeTools(request, own, losses));
  put(body, 'text', textOf(request, own));
  const reasoning = reasoningOf(request, losses);
  put(body, 'reasoning', reasoning);
  put(body, 'include', includeOf(request, reasoning, own));
  put(body, 'user', request.user);
  put(body, 'truncation', request.truncation);
  putHints(body, request, losses);
  putExtensions(body, request, own, losses);
  // Responses are kept by default, which a caller that did not ask for it does not expect.
  body.store ??= false;
  body.stream = target.stream;
  dropUnsayable(request, losses);
  for (const name of target.omit) {
    if (body[name] === undefined) continue;
    delete body[name];
    losses.push({ field: name, why: 'unsupported' });
  }
  const stop = request.stop?.filter((text) => text !== '') ?? [];
  return { ok: true, value: { body, losses, ...(stop.length > 0 && { decode: { stop } }) } };
}

const nothingSaid = invalid(
  'messages',
  'The messages have no content. Send at least one with text, a picture or a tool result.',
);

function beyondThis(request: NeutralRequest): Failure | null {
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

function outputLimit(asked: number | undefined, max: number | null, losses: Loss[]): number | undefined {
  if (asked === undefined) return undefined;
  const limit = Math.max(outputTokensMin, max === null ? asked : Math.min(asked, max));
  if (limit !== asked) losses.push({ field: 'max_tokens', why: 'clamped' });
  return limit;
}

function textOf(request: NeutralRequest, own: JsonObject): JsonObject | undefined {
  const text: JsonObject = {};
  if (request.responseFormat !== undefined) text.format = wireFormat(request.responseFormat);
  put(text, 'verbosity', own['text.verbosity'] ?? request.extensions?.[openAiChatId]?.verbosity);
  return Object.keys(text).length > 0 ? text : undefined;
}

function wireFormat(format: NeutralResponseFormat): JsonObject {
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json-object':
      return { type: 'json_object' };
    case 'json-schema': {
      const wire: JsonObject = { type: 'json_schema', name: format.name, schema: format.schema };
      put(wire, 'strict', format.strict);
      put(wire, 'description', format.description);
      return wire;
    }
  }
}

/** A budget in tokens becomes the nearest of OpenAI's words, and whoever sets one wants to see the thoughts. */
function reasoningOf({ reasoning }: NeutralRequest, losses: Loss[]): JsonObject | undefined {
  if (reasoning === undefined) return undefined;
  const { effort, budgetTokens, summary } = reasoning;
  const wire: JsonObject = {};
  if (effort !== undefined) wire.effort = effort;
  else if (budgetTokens !== undefined) {
    losses.push({ field: 'thinking.budget_tokens', why: 'narrowed' });
    wire.effort = budgetTokens <= 2_048 ? 'low' : budgetTokens <= 8_192 ? 'medium' : 'high';
  }
  put(wire, 'summary', summary ?? (budgetTokens === undefined ? undefined : 'auto'));
  return Object.keys(wire).length > 0 ? wire : undefined;
}

function includeOf(
  request: NeutralRequest,
  reasoning: JsonObject | undefined,
  own: JsonObject,
): JsonValue[] | undefined {
  const include: JsonValue[] = Array.isArray(own.include) ? [...own.include] : [];
  // Nothing is stored, so the thoughts must come along to be of use in the next turn.
  if (reasoning !== undefined && reasoning.effort !== 'none') include.push('reasoning.encrypted_content');
  if (request.logprobs === true) include.push(outputLogprobs);
  return include.length > 0 ? include : undefined;
}

/** Hints that this format has as well. */
const knownHints: ReadonlySet<string> = new Set([
  'store',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'safety_identifier',
]);

function putHints(body: JsonObject, request: NeutralRequest, losses: Loss[]): void {
  for (const [name, value] of Object.entries(request.hints ?? {})) {
    if (name === 'metadata') put(body, name, textsOf(value, losses) ?? undefined);
    else if (knownHints.has(name)) put(body, name, value);
    else losses.push({ field: name, why: 'unsupported' });
  }
}

function putExtensions(body: JsonObject, request: NeutralRequest, own: JsonObject, losses: Loss[]): void {
  for (const [name, value] of Object.entries(own)) {
    // `tools.…` and the like are restored where they belong.
    if (name.includes('.') || name === 'include' || Object.hasOwn(body, name)) continue;
    put(body, name, value);
  }
  for (const [dialect, members] of Object.entries(request.extensions ?? {})) {
    if (dialect === openAiResponsesId) continue;
    for (const field of Object.keys(members)) {
      if (dialect === openAiChatId && field === 'verbosity') continue;
      losses.push({ field, why: 'unknown' });
    }
  }
}

function dropUnsayable(request: NeutralRequest, losses: Loss[]): void {
  const dropped: [string, unknown][] = [
    ['seed', request.seed],
    ['top_k', request.topK],
    ['frequency_penalty', request.frequencyPenalty],
    ['presence_penalty', request.presencePenalty],
    ['logit_bias', isObject(request.logitBias) ? request.logitBias : undefined],
  ];
  for (const [field, value] of dropped) if (value !== undefined) losses.push({ field, why: 'unsupported' });
}

interface EncodedTools {
  tools?: JsonObject[];
  tool_choice?: JsonValue;
  parallel_tool_calls?: boolean;
}

/** `own` is what this dialect's own decoder kept: the provider's tools among it, as `tools.<type>`. */
function encodeTools(request: NeutralRequest, own: JsonObject, losses: Loss[]): EncodedTools {
  const tools = (request.tools ?? []).map((tool) => encodeTool(tool, losses));
  tools.push(...ownTools(own));
  const parallel = request.parallelToolCalls === undefined ? {} : { parallel_tool_calls: request.parallelToolCalls };
  if (tools.length === 0) return parallel;
  const choice = choiceOf(request);
  return { tools, ...(choice !== undefined && { tool_choice: choice }), ...parallel };
}

/** The provider's tools among what this dialect's own decoder kept. */
function ownTools(own: JsonObject): JsonObject[] {
  const kept = Object.entries(own).filter(([name, value]) => /^tools\.[^[]/.test(name) && Array.isArray(value));
  return kept.flatMap(([, value]) => value as JsonObject[]);
}

function encodeTool(tool: NeutralTool, losses: Loss[]): JsonObject {
  if (tool.cache !== undefined && !losses.some((loss) => loss.field === 'cache_control')) {
    losses.push({ field: 'cache_control', why: 'unsupported' });
  }
  if (tool.custom !== undefined) return { type: 'custom', name: tool.name, ...tool.custom };
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

function choiceOf({ toolChoice, tools }: NeutralRequest): JsonValue | undefined {
  if (toolChoice?.type !== 'tool') return toolChoice?.type;
  const { name } = toolChoice;
  const custom = tools?.some((tool) => tool.name === name && tool.custom !== undefined) ?? false;
  return { type: custom ? 'custom' : 'function', name };
}

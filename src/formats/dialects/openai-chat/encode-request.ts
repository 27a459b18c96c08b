import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralResponseFormat, NeutralTool } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { textsOf } from '../openai-metadata.ts';
import { openAiResponsesId } from '../openai-responses/wire.ts';
import { byHand, encoderOf, type Taken, writeFields } from '../taken-fields.ts';
import { effortAbove, effortOfBudget } from './effort.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodedFields } from './request-fields.ts';
import { openAiChatId } from './wire.ts';

const takes = ['messages', 'messages.name', 'tools', 'tools.strict', ...byHand] as const;
type EncodedMembers = Taken<(typeof takes)[number]>;

/**
 * A neutral request as OpenAI's. The output limit goes as `max_completion_tokens`, clamped to the target's; fields of
 * `target.omit` are left out and listed. Providers handle other spellings (`providers/quirks.ts`).
 */
export const encodeRequest = encoderOf({
  vendor: openAiChatId,
  takes,
  fields: encodedFields,
  hints: 'all',
  borrows: { [openAiResponsesId]: new Set(['text.verbosity']) },
  encode,
});

function encode(request: EncodedMembers, target: EncodeTarget): EncodedRequest | Failure {
  const reasoning = target.omit.includes('reasoning_content') ? 'omit' : 'send';
  const { messages, losses, unsayable } = encodeMessages(request.messages, reasoning, target);
  if (unsayable !== null) {
    const param = `messages[${unsayable.message}].content`;
    return invalid(param, `'${param}' holds ${unsayable.what}, which no provider of this model accepts.`);
  }
  if (messages.length === 0) {
    const message = 'The messages have no content. Send at least one with text, a picture or a tool result.';
    return invalid('messages', message);
  }
  const vendorFields = request.extensions?.[openAiChatId];
  const missing = vendorFields?.tools !== undefined ? null : missingTool(request);
  if (missing !== null) return missing;
  const body: JsonObject = { model: target.model, messages };
  writeFields(encodedFields, request, target, body, losses);
  putTools(body, request);
  put(body, 'response_format', request.responseFormat && wireFormat(request.responseFormat));
  const callers = request.reasoning?.above;
  const above = callers === undefined ? undefined : effortAbove(callers, target.model);
  put(body, 'reasoning_effort', above ?? effortOf(request, losses));
  if (request.hints !== undefined) putHints(body, request.hints, losses);
  putExtensions(body, request);
  put(body, 'verbosity', request.extensions?.[openAiResponsesId]?.['text.verbosity']);
  if (target.stream) {
    body.stream = true;
    body.stream_options = { include_usage: true };
  }
  return { body, losses, ...(above !== undefined && above === callers && { recovered: ['output_config.effort'] }) };
}

function put(body: JsonObject, name: string, value: JsonValue | undefined): void {
  if (value !== undefined) body[name] = value;
}

function putHints(body: JsonObject, { metadata, ...hints }: JsonObject, losses: Loss[]): void {
  putAll(body, hints);
  if (metadata !== undefined) put(body, 'metadata', textsOf(metadata, losses) ?? undefined);
}

/** Never overwrites: the neutral form takes precedence. Defines members, so `__proto__` stays a plain one (S21). */
function putAll(body: JsonObject, members: JsonObject): void {
  for (const name of Object.keys(members)) {
    if (Object.hasOwn(body, name)) continue;
    Object.defineProperty(body, name, { value: members[name], enumerable: true, configurable: true, writable: true });
  }
}

function putTools(body: JsonObject, request: EncodedMembers): void {
  const tools = (request.tools ?? []).map(({ name, description, parameters, strict, custom }): JsonObject => {
    if (custom?.of === openAiChatId) return nestedCustomTool(name, custom);
    const definition: JsonObject = { name };
    put(definition, 'description', description);
    put(definition, 'parameters', parameters);
    put(definition, 'strict', strict);
    return { type: 'function', function: definition };
  });
  if (tools.length === 0) return;
  body.tools = tools;
  put(body, 'tool_choice', wireChoice(request));
  put(body, 'parallel_tool_calls', request.parallelToolCalls);
}

function nestedCustomTool(name: string, { format, description }: NonNullable<NeutralTool['custom']>): JsonObject {
  const { type, ...grammar } = format ?? {};
  const nested = type === 'grammar' ? { type, grammar } : format;
  return { type: 'custom', custom: { name, ...(description && { description }), ...(nested && { format: nested }) } };
}

function wireChoice({ toolChoice: choice, tools }: EncodedMembers): JsonValue | undefined {
  if (choice?.type !== 'tool') return choice?.type;
  const { name } = choice;
  const isCustom = tools?.some((tool) => tool.name === name && tool.custom?.of === openAiChatId) ?? false;
  return isCustom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

function wireFormat(format: NeutralResponseFormat): JsonObject {
  const { type, ...schema } = flatFormat(format);
  return format.type === 'json-schema' ? { type, json_schema: schema } : { type };
}

/** The form of Responses. */
export function flatFormat(format: NeutralResponseFormat): JsonObject & { type: string } {
  if (format.type !== 'json-schema') return { type: format.type === 'text' ? 'text' : 'json_object' };
  const wire = { type: 'json_schema', name: format.name, schema: format.schema };
  put(wire, 'strict', format.strict);
  put(wire, 'description', format.description);
  return wire;
}

/** A budget in tokens becomes the nearest of OpenAI's words. */
function effortOf({ reasoning }: EncodedMembers, losses: Loss[]): string | undefined {
  if (reasoning?.effort !== undefined || reasoning?.budgetTokens === undefined) return reasoning?.effort;
  losses.push({ field: 'thinking.budget_tokens', why: 'narrowed' });
  return effortOfBudget(reasoning.budgetTokens);
}

function putExtensions(body: JsonObject, { extensions }: EncodedMembers): void {
  const { tools: _, ...rest } = extensions?.[openAiChatId] ?? {};
  putAll(body, rest);
}

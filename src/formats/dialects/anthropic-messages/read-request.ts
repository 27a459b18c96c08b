import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import { distinctTools } from '../../neutral/distinct-tools.ts';
import { type Loss, Losses } from '../../neutral/loss.ts';
import type {
  NeutralMessage,
  NeutralPart,
  NeutralReasoning,
  NeutralRequest,
  RequestNeeds,
} from '../../neutral/request.ts';
import { breaksToolLoop } from '../../neutral/tool-loop.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { conversationStart, isGiven } from '../../neutral/value-checks.ts';
import type { AnswerHead, CallerRequest, CountedRequest } from '../dialect.ts';
import { fallbackModelsOf } from '../fallback-models.ts';
import { fieldNames, placeFields } from '../field-table.ts';
import { type ForwardBody, forwardBody } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { memberKinds, type NamingRules, objectsBy, usualMembers } from '../named-objects.ts';
import { someExtras } from '../request-extras.ts';
import { asFunction } from './client-tools.ts';
import { decodeContent } from './decode-messages.ts';
import { fitToModel, withoutThoughtEdits } from './fit-to-model.ts';
import { historyForAnthropic, overIn } from './history-for-anthropic.ts';
import { isClaude, rulesOf } from './model-rules.ts';
import { checkRequest, endUserOf, isNames, putTools, requestFields } from './request-fields.ts';
import { isGatewayStep, partOfStep } from './server-tool-blocks.ts';
import { serverToolsOf } from './server-tools.ts';
import {
  blockKinds,
  type CallerBlock,
  type CallerBody,
  type CallerMessage,
  type CallerThinking,
  vendor,
} from './wire.ts';

/** Parts of the request that an answer in another dialect must heed; plain data, of `CallerRequest.echo`. */
export interface AnswerOptions extends JsonObject {
  /** `sealed`: thinking blocks without their text, but with the data for the next turn. */
  thoughts: 'shown' | 'sealed' | 'hidden';
  /** Usage in `message_start` before anybody has counted. */
  inputTokens: number;
}

/** Options of `readRequest` for its answer; everything is shown by default. */
export function answerOptionsOf({ echo }: AnswerHead): AnswerOptions {
  return (echo as AnswerOptions | undefined) ?? { thoughts: 'shown', inputTokens: 0 };
}

/** Checks a body and keeps it unchanged: parts that only a conversion needs are built on demand. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): CallerRequest | Failure {
  const checked = checkRequest(body, 'answer');
  if (isFailure(checked)) return checked;
  const { body: request, vendors } = checked;
  const needs = needsOf(request, raw.length);
  const nativeOnly = vendors ?? (request.max_tokens === 0 ? noOutput : null);
  const echo: AnswerOptions = { thoughts: thoughtsOf(request.thinking), inputTokens: needs.inputTokensEstimate };
  return {
    model: request.model,
    stream: request.stream === true,
    includeUsage: true,
    n: 1,
    seed: null,
    needs,
    user: endUserOf(request),
    conversationStart: conversationStart(request.messages, systemText(request.system)),
    echo,
    wordFor: callersWord,
    neutral: () => toNeutral(request),
    forward: (target) => prepareForTarget(raw, request, scan, target),
    extras: someExtras({
      fallbackModels: fallbackModelsOf(isNames(request.fallbacks) ? request : { models: request.models ?? null }),
      nativeOnly,
      nativeFor: vendors !== null ? 'judge' : nativeOnly === null ? null : 'format',
      serverTools: serverToolsOf(request),
      answerGives: isObject(body.thread) || isObject(body.diagnostics) ? 'all' : 'objects',
    }),
  };
}

/** It warms Anthropic's cache; everybody else would answer without a bound. */
const noOutput = invalid('max_tokens', "'max_tokens' is 0, which no provider of this model accepts. Send 1 or more.");

/** The same for `count_tokens`, which knows no bound on the output. */
export function readForCount(raw: Buffer, body: JsonObject, scan: JsonScan): CountedRequest | Failure {
  const checked = checkRequest(body, 'count');
  if (isFailure(checked)) return checked;
  const { body: request, vendors } = checked;
  return {
    model: request.model,
    neutral: () => toNeutral(request),
    forward: (target) => prepareForTarget(raw, request, scan, target),
    extras: someExtras({ nativeOnly: vendors, nativeFor: vendors === null ? null : 'judge' }),
  };
}

/* Bodies that only a provider of this format takes are read too: nothing below is sure of more than `ours` of the table. */

/** A thinking block comes before the text only for callers who asked for one: others read `content[0].text`. */
function thoughtsOf(thinking: CallerThinking | null | undefined): AnswerOptions['thoughts'] {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return 'hidden';
  return thinking.display === 'omitted' ? 'sealed' : 'shown';
}

/** Fields of a Messages request by the words that encoders of other dialects tell losses and refusals in. */
const words: ReadonlyMap<string, string> = new Map([
  ...fieldNames(requestFields),
  ['reasoning_effort', 'thinking'],
  ['response_format', 'output_config.format'],
  ['max_completion_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['user', 'metadata.user_id'],
  ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  // Thoughts of earlier turns; the member for new ones is `reasoning_effort`.
  ['thinking', 'messages.thinking'],
  ['reasoning_content', 'messages.thinking'],
]);

export function callersWord(field: string): string {
  const pairing = /^messages\[\d+\]\.tool_call(_id$|s\[)/.exec(field)?.[1];
  if (pairing !== undefined) return pairing === '_id' ? 'messages.tool_result' : 'messages.tool_use';
  return (
    words.get(field) ??
    field
      .replace(/^(tools\[\d+\])\.function\.parameters/, '$1.input_schema')
      .replace(/\.reasoning_content$/, '.thinking')
  );
}

/**
 * Facts of a checked request for routing. `bodyBytes` is the length of its JSON as received, which makes the size
 * estimate free.
 */
function needsOf(body: CallerBody, bodyBytes: number): RequestNeeds {
  const format = body.output_config?.format ?? body.output_format;
  return {
    vision: body.messages.some(({ content }) => holds(content, isPicture)),
    files: body.messages.some(({ content }) => holds(content, isFile)),
    audioIn: false,
    tools: Array.isArray(body.tools) && body.tools.some((tool) => isObject(tool) && asFunction(tool) !== null),
    logprobs: false,
    jsonSchema: isObject(format) && format.type === 'json_schema',
    reasoning: body.thinking?.type === 'enabled' || body.thinking?.type === 'adaptive',
    ...(body.stop_sequences?.length && { stop: true }),
    n: 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    maxOutputTokens: body.max_tokens ?? null,
  };
}

function holds(content: unknown, isOne: (block: JsonObject) => boolean): boolean {
  if (!Array.isArray(content)) return false;
  for (const block of content) {
    if (!isObject(block)) continue;
    if (isOne(block) || (block.type === 'tool_result' && holds(block.content, isOne))) return true;
  }
  return false;
}

const isPicture = ({ type }: JsonObject) => type === 'image';
/** Documents as texts are texts elsewhere, and files of this server come as what they are. */
const isFile = ({ type, source }: JsonObject) =>
  type === 'document' && isObject(source) && (source.type === 'url' || source.media_type === 'application/pdf');

/** Anthropic's least. */
const budgetTokensMin = 1_024;

/**
 * The body for a target that speaks Messages. The bytes stay as they came, with whatever they hold that is not known
 * here, but for spliced values: the model, an output limit above the target's (clients send 128000 blindly), a history
 * that another dialect answered, the operator's own fields.
 */
function prepareForTarget(rawBody: Buffer, body: CallerBody, scan: JsonScan, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  const values = new Map([['model', JSON.stringify(target.model)]]);
  const parsed = withEffortOfTurn(body, target.model);
  if (parsed !== body) values.set('output_config', JSON.stringify(parsed.output_config));
  clampLimit(parsed, target.maxOutputTokens, values, losses);
  if (parsed.fallbacks != null && !isNames(parsed.fallbacks)) values.set('fallbacks', JSON.stringify(parsed.fallbacks));
  const given: JsonObject[string] = parsed.tools;
  // A body that is only counted may have anything there.
  if (Array.isArray(given) && given.every(isObject)) {
    const tools = distinctTools(given);
    if (tools !== given) {
      values.set('tools', JSON.stringify(tools));
      losses.push({ field: 'tools', why: 'narrowed' });
    }
  }
  const history = historyForAnthropic(parsed, target.model, losses);
  if (history !== null) values.set('messages', JSON.stringify(history));
  // Another model may have made the calls. Claude refuses to think behind them, and others do not.
  const mayRefuse = parsed.thinking?.type === 'enabled' && (history !== null || isClaude(target.model));
  if (mayRefuse && breaksToolLoop(history ?? parsed.messages, blockKinds)) turnThinkingOff(parsed, values, losses);
  // Who names the model itself wrote for it.
  const fit = parsed.model === target.model ? null : fitToModel(parsed, history ?? parsed.messages, target.model);
  const fits = fit === null ? target.fits : [() => fit, ...(target.fits ?? [])];
  return forwardBody(rawBody, parsed, scan, fits === target.fits ? target : { ...target, fits }, { values, losses });
}

/** The effort of a system message as that of the request, for a Claude that takes no such messages. */
function withEffortOfTurn(body: CallerBody, model: string): CallerBody {
  const { systemInMessages, effort: takes } = rulesOf(model);
  if (systemInMessages === 'accepted' || takes === 'refused' || !body.messages.some(setsEffort)) return body;
  return { ...body, output_config: { ...body.output_config, effort: effortOf(body) as string } };
}

/** For this request: the thought that the calls followed is not there any more. */
function turnThinkingOff(body: CallerBody, values: Map<string, string>, losses: Loss[]): void {
  values.set('thinking', '{"type":"disabled"}');
  losses.push({ field: 'thinking', why: 'unsupported' });
  const { context_management: management } = body;
  if (isObject(management)) values.set('context_management', JSON.stringify(withoutThoughtEdits(management)));
}

/** The budget for thoughts is part of the limit and must stay below it. */
function clampLimit(
  { max_tokens: requestedMax, thinking }: CallerBody,
  limit: number | null,
  values: Map<string, string>,
  losses: Loss[],
): void {
  if (typeof requestedMax !== 'number' || limit === null || requestedMax <= limit) return;
  values.set('max_tokens', String(limit));
  losses.push({ field: 'max_tokens', why: 'clamped' });
  const budget = thinking?.budget_tokens;
  if (!thinking || budget === undefined || budget < limit) return;
  const room = Math.max(budgetTokensMin, Math.floor(limit * 0.75));
  values.set('thinking', JSON.stringify({ ...thinking, budget_tokens: room }));
  losses.push({ field: 'thinking.budget_tokens', why: 'clamped' });
}

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
function toNeutral(body: CallerBody): NeutralRequest {
  const losses = new Losses();
  const turns = sinceCompaction(body.messages);
  const isOver = overIn(turns);
  const messages = [
    ...systemMessages(body, losses),
    ...turns.flatMap((message, at) => (isOver(message, at) ? [] : decodeMessage(message, losses))),
  ];
  const request: NeutralRequest = { model: body.model, messages, stream: body.stream === true, includeUsage: true };
  putTools(request, body, losses);
  const { vendor: extension } = placeFields(requestFields, request, body, losses);
  const reasoning = decodeReasoning(body, losses);
  if (reasoning !== null) request.reasoning = reasoning;
  if (extension !== null) request.extensions = { [vendor]: extension };
  if (losses.list.length > 0) request.lost = losses.list;
  return request;
}

/** The turns that count: Anthropic ignores all before its newest summary of them, which others get as the user's words. */
function sinceCompaction(messages: readonly CallerMessage[]): readonly CallerMessage[] {
  const at = messages.findLastIndex(({ content }) => Array.isArray(content) && content.some(isCompaction));
  const { role, content = '' } = messages[at] ?? {};
  if (role === undefined || !Array.isArray(content)) return messages;
  const block = content.findLastIndex(isCompaction);
  const summary = `Summary of the conversation so far:\n\n${jsonText(content[block]?.content)}`;
  return [{ role: 'user', content: summary }, { role, content: content.slice(block + 1) }, ...messages.slice(at + 1)];
}

/** One without content has failed. */
function isCompaction({ type, content }: CallerBlock): boolean {
  return type === 'compaction' && typeof content === 'string' && content !== '';
}

/** One message of one text: servers that take only strings here are common, and blocks differ in nothing but cache. */
function systemMessages({ system }: CallerBody, losses: Losses): NeutralMessage[] {
  const text = systemText(system, (billing) => losses.add(`system.${billing}`, 'unsupported'));
  const cache = Array.isArray(system) ? system.find((block) => isObject(block.cache_control))?.cache_control : null;
  if (text === '') return [];
  const part: NeutralPart = { type: 'text', text, ...(cache && { cache }) };
  return [{ role: 'system', parts: [part] }];
}

/** Instructions of the request as one text, without the line for Anthropic's billing, which `onBilling` gets. */
function systemText(
  system: string | readonly CallerBlock[] | null | undefined,
  onBilling: (name: string) => void = () => undefined,
): string {
  if (typeof system === 'string') return system;
  if (!Array.isArray(system)) return '';
  const texts: string[] = [];
  for (const block of system) {
    const { type, text } = objectIn(block);
    if (type !== 'text' || typeof text !== 'string' || text === '') continue;
    // Claude Code's first block is a line for Anthropic's billing; it means nothing to anybody else.
    if (text.startsWith('x-anthropic-billing-header:')) onBilling('x-anthropic-billing-header');
    else texts.push(text);
  }
  return texts.join('\n\n');
}

const messageMembers: ReadonlySet<string> = new Set(['role', 'content', 'clear_at', 'output_config']);

/** No text for an empty message. */
function decodeMessage(message: CallerMessage, losses: Losses): NeutralMessage[] {
  losses.addUnknown(message, messageMembers, 'messages');
  // A system message may bring settings alone.
  const { content = [], role } = message;
  if (Array.isArray(content) && content.some(isGatewayStep)) return turnsWithSteps(content, losses);
  const parts = decodeContent(content, losses);
  return parts.length === 0 ? [] : [{ role, parts }];
}

/** A turn of the assistant in which this gateway ran tools: each result is a separate message elsewhere. */
function turnsWithSteps(content: readonly CallerBlock[], losses: Losses): NeutralMessage[] {
  const turns: (NeutralMessage & { parts: NeutralPart[] })[] = [];
  for (const block of content) {
    const stepPart = isGatewayStep(block) ? partOfStep(block) : null;
    const parts = stepPart === null ? decodeContent([block], losses) : [stepPart];
    const role = stepPart?.type === 'tool-result' ? 'tool' : 'assistant';
    const last = turns.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) turns.push({ role, parts: [...parts] });
  }
  return turns;
}

/** Words that every dialect's models take. */
const efforts: ReadonlySet<string> = new Set(['low', 'medium', 'high']);

/** That of the newest system message with one, or of the body. */
function effortOf({ messages, output_config: config }: CallerBody): JsonValue | undefined {
  return objectIn(messages.findLast(setsEffort)?.output_config ?? config).effort;
}

function setsEffort({ role, output_config: config }: CallerMessage): boolean {
  return role === 'system' && isGiven(objectIn(config).effort);
}

function decodeReasoning(body: CallerBody, losses: Losses): NeutralReasoning | null {
  const { thinking } = body;
  const isRequested = thinking?.type === 'enabled' || thinking?.type === 'adaptive';
  const word = effortOf(body);
  // Others cannot think between calls of tools alone, as `between_tools` wants.
  if (!isRequested && thinking && thinking.type !== 'disabled') losses.add('thinking.type', 'unsupported');
  if (typeof word !== 'string') {
    if (!isRequested) return thinking?.type === 'disabled' ? { effort: 'none' } : null;
    // It is written, since other vendors' models think only on request.
    return thinking.budget_tokens === undefined ? { effort: 'medium' } : { budgetTokens: thinking.budget_tokens };
  }
  if (efforts.has(word)) return { effort: word };
  const isAbove = word === 'xhigh' || word === 'max';
  // Anthropic goes further than others do: a word above theirs would be refused by most. OpenAI's newer models take it.
  losses.add('output_config.effort', isAbove ? 'clamped' : 'unknown');
  return isAbove ? { effort: 'high', above: word } : isRequested ? { effort: 'medium' } : null;
}

/**
 * Places in a request that name files, containers, skills and earlier answers of Anthropic. An `mcp_servers` entry is
 * an address and a token of the caller's own: it names no stored object.
 */
const rules: NamingRules = {
  members: memberKinds({
    ...usualMembers,
    skill_id: 'skill',
    // Of `thread` and `diagnostics`.
    previous_message_id: 'id',
    input: 'opaque',
    input_schema: 'opaque',
    input_examples: 'opaque',
  }),
  top: memberKinds({ container: 'id' }),
  // Output of a program, sent back. Other results may hold documents, which are read.
  echoes: (type) => type.endsWith('_execution_output'),
};

export const objects = objectsBy(rules);

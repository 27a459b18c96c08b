import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { pairToolCalls } from '../../neutral/pair-tool-calls.ts';
import type {
  NeutralMessage,
  NeutralPart,
  NeutralReasoning,
  NeutralRequest,
  NeutralTool,
} from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import { gatewayOnlyFields } from '../forward-body.ts';
import { checkRequest } from './check-request.ts';
import { cacheOf, decodeContent } from './decode-blocks.ts';
import { endUserOf } from './end-user.ts';
import { Losses } from './losses.ts';
import {
  type CallerBlock,
  type CallerBody,
  type CallerMessage,
  type CallerTool,
  isBillingHeader,
  isCustomTool,
} from './request-wire.ts';
import { vendor } from './wire.ts';

export function decodeRequest(body: JsonObject): Result<NeutralRequest> {
  const checked = checkRequest(body, 'answer');
  return checked.ok ? { ok: true, value: toNeutral(checked.value) } : checked;
}

/** Top-level fields that have a place of their own in the neutral form. */
const neutralFields: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'stream',
  'system',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
]);

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: CallerBody): NeutralRequest {
  const losses = new Losses();
  const messages = [
    ...systemMessages(body, losses),
    ...body.messages.flatMap((message) => decodeMessage(message, losses)),
  ];
  const paired = pairToolCalls(messages);
  for (const { field, why } of paired.losses) losses.add(field, why);
  const request: NeutralRequest = {
    model: body.model,
    messages: paired.messages,
    stream: body.stream === true,
    includeUsage: true,
  };
  if (body.max_tokens) request.maxOutputTokens = body.max_tokens;
  if (isGiven(body.temperature)) request.temperature = body.temperature;
  if (isGiven(body.top_p)) request.topP = body.top_p;
  if (body.top_k) request.topK = body.top_k;
  if (body.stop_sequences && body.stop_sequences.length > 0) request.stop = body.stop_sequences;
  const tools = decodeTools(body, losses);
  if (tools.length > 0) request.tools = tools;
  decodeToolChoice(body, request);
  decodeFormat(body, request);
  const reasoning = decodeReasoning(body, losses);
  if (reasoning !== null) request.reasoning = reasoning;
  const user = endUserOf(body);
  if (user !== null) request.user = user;
  const extension = leftOver(body);
  if (extension !== null) request.extensions = { [vendor]: extension };
  if (losses.list.length > 0) request.lost = losses.list;
  return request;
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** One message of one text: servers that take only strings here are common, and blocks differ in nothing but cache. */
function systemMessages({ system }: CallerBody, losses: Losses): NeutralMessage[] {
  const text = systemText(system, (billing) => losses.add(`system.${billing}`, 'unsupported'));
  const cache = Array.isArray(system) ? system.find((block) => isObject(block.cache_control))?.cache_control : null;
  if (text === '') return [];
  const part: NeutralPart = { type: 'text', text, ...(cache && { cache }) };
  return [{ role: 'system', parts: [part] }];
}

/** The request's own instructions as one text, without the line for Anthropic's billing, which `onBilling` is told of. */
export function systemText(
  system: string | readonly CallerBlock[] | null | undefined,
  onBilling: (name: string) => void = () => undefined,
): string {
  if (!system) return '';
  if (typeof system === 'string') return system;
  const texts: string[] = [];
  for (const { type, text } of system) {
    if (type !== 'text' || typeof text !== 'string' || text === '') continue;
    if (isBillingHeader(text)) onBilling('x-anthropic-billing-header');
    else texts.push(text);
  }
  return texts.join('\n\n');
}

const messageMembers: ReadonlySet<string> = new Set(['role', 'content']);

/** Nothing for a message that says nothing. */
function decodeMessage(message: CallerMessage, losses: Losses): NeutralMessage[] {
  losses.addUnknown(message, messageMembers, 'messages');
  const parts = decodeContent(message.content, losses);
  return parts.length === 0 ? [] : [{ role: message.role, parts }];
}

/** `output_format` is what it was called while in beta. */
function decodeFormat({ output_config: config, output_format: beta }: CallerBody, request: NeutralRequest): void {
  const format = config?.format ?? beta;
  if (!isObject(format) || format.type !== 'json_schema' || !isObject(format.schema)) return;
  request.responseFormat = { type: 'json-schema', name: 'answer', schema: format.schema };
}

/** Words that every dialect's models take. */
const efforts: ReadonlySet<string> = new Set(['low', 'medium', 'high']);

function decodeReasoning({ thinking, output_config: config }: CallerBody, losses: Losses): NeutralReasoning | null {
  const asked = thinking?.type === 'enabled' || thinking?.type === 'adaptive';
  const word = config?.effort;
  if (typeof word !== 'string') {
    if (!asked) return null;
    // Said, since models of others do not think unless they are told to.
    return thinking.budget_tokens === undefined ? { effort: 'medium' } : { budgetTokens: thinking.budget_tokens };
  }
  if (efforts.has(word)) return { effort: word };
  // Anthropic goes further than others do: a word above theirs would be refused by most.
  losses.add('output_config.effort', word === 'xhigh' || word === 'max' ? 'clamped' : 'unknown');
  return word === 'xhigh' || word === 'max' ? { effort: 'high' } : asked ? { effort: 'medium' } : null;
}

function leftOver(body: CallerBody): JsonObject | null {
  const members: [string, JsonValue][] = [];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (!isGiven(value) || neutralFields.has(name) || gatewayOnlyFields.has(name)) continue;
    members.push([name, value]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return members.length === 0 ? null : Object.fromEntries(members);
}

/** Claude Code's stand-in for the tools that it loads later: there is nothing to call behind it. */
const placeholderName = 'DeferredToolPlaceholder';
const knownMembers: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
]);

/**
 * The caller's own tools. Those that Anthropic defines or runs are known to it alone: left out and listed, and whoever
 * must call one is refused by an encoder, which finds it missing. Deferred ones are given whole at once.
 */
function decodeTools(body: CallerBody, losses: Losses): NeutralTool[] {
  const tools: NeutralTool[] = [];
  for (const tool of body.tools ?? []) {
    if (isCustomTool(tool) && tool.name !== placeholderName) tools.push(decodeTool(tool, losses));
    else losses.add(`tools.${isCustomTool(tool) ? placeholderName : tool.type}`, 'unsupported');
  }
  return tools;
}

function decodeTool(tool: CallerTool, losses: Losses): NeutralTool {
  losses.addUnknown(tool, knownMembers, 'tools');
  const neutral: NeutralTool = { name: tool.name!, parameters: tool.input_schema!, ...cacheOf(tool) };
  if (typeof tool.description === 'string') neutral.description = tool.description;
  if (typeof tool.strict === 'boolean') neutral.strict = tool.strict;
  return neutral;
}

function decodeToolChoice({ tool_choice: choice }: CallerBody, request: NeutralRequest): void {
  if (!choice) return;
  if (choice.disable_parallel_tool_use === true) request.parallelToolCalls = false;
  switch (choice.type) {
    case 'tool':
      request.toolChoice = { type: 'tool', name: choice.name! };
      return;
    case 'any':
      request.toolChoice = { type: 'required' };
      return;
    case 'auto':
    case 'none':
      request.toolChoice = { type: choice.type };
  }
}

import { isObject } from '../../../kernel/json.ts';
import { pairToolCalls } from '../../neutral/pair-tool-calls.ts';
import type { NeutralMessage, NeutralPart, NeutralReasoning, NeutralRequest } from '../../neutral/request.ts';
import { placeFields } from '../field-table.ts';
import { decodeContent } from './decode-blocks.ts';
import { Losses } from './losses.ts';
import { requestFields } from './request-fields.ts';
import { type CallerBlock, type CallerBody, type CallerMessage, isBillingHeader } from './request-wire.ts';
import { vendor } from './wire.ts';

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
  const { vendor: extension } = placeFields(requestFields, request, body, losses);
  const reasoning = decodeReasoning(body, losses);
  if (reasoning !== null) request.reasoning = reasoning;
  if (extension !== null) request.extensions = { [vendor]: extension };
  if (losses.list.length > 0) request.lost = losses.list;
  return request;
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

import { hasText, isObject, type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { NeutralPart } from '../../neutral/request.ts';
import { membersOf } from './answer-proofs.ts';
import { openAiChatId } from './wire.ts';

/*
 * Thoughts with their proofs, in OpenRouter's `reasoning_details`
 * (https://openrouter.ai/docs/use-cases/reasoning-tokens): clients send the message of an answer back as it is, so that
 * a model that waits for its tools goes on with what it thought.
 */

/** OpenRouter's word for the format of a vendor's proofs. Its clients drop details of formats that they do not know. */
const formatOf: ReadonlyMap<string, string> = new Map([
  ['anthropic-messages', 'anthropic-claude-v1'],
  ['gemini', 'google-gemini-v1'],
  ['openai-responses', 'openai-responses-v1'],
]);
const vendorOf = new Map([...formatOf].map(([vendor, format]) => [format, vendor]));
/** Begins the id of a detail whose format has no word there. */
const idPrefix = 'culvert.';

export type ThoughtEvent = Extract<
  NeutralEvent,
  { type: 'reasoning-delta' | 'reasoning-signature' | 'redacted-reasoning' | 'part-end' }
>;

/** Thoughts of one choice. */
export class ReasoningDetails {
  #text = '';
  #count = 0;

  /** Members with what `event` closes; null: nothing. Unsigned thoughts have none, since no provider takes them back. */
  read(event: ThoughtEvent): JsonObject | null {
    switch (event.type) {
      case 'reasoning-delta':
        this.#text += event.text;
        return null;
      case 'part-end':
        this.#text = '';
        return null;
      case 'reasoning-signature': {
        // They came in this format.
        if (event.vendor === openAiChatId) return membersOf([event.signature]);
        const text = this.#text;
        this.#text = '';
        return this.#detail(event.vendor, { type: 'reasoning.text', text, signature: event.signature });
      }
      case 'redacted-reasoning':
        return this.#detail(event.vendor, { type: 'reasoning.encrypted', data: event.data });
    }
  }

  #detail(vendor: string, members: JsonObject): JsonObject {
    const format = formatOf.get(vendor);
    const named = format === undefined ? { id: idPrefix + vendor, format: 'unknown' } : { format };
    return { reasoning_details: [{ ...members, ...named, index: this.#count++ }] };
  }
}

/** Signed and hidden thoughts of a message of the caller's; [] when it has none: its thoughts are text at most. */
export function provenThoughts({ reasoning_details: details, thinking_blocks: blocks }: JsonObject): NeutralPart[] {
  if (Array.isArray(details)) return details.flatMap((detail) => (isObject(detail) ? thoughtOf(detail) : []));
  return Array.isArray(blocks) ? blocks.flatMap((block) => (isObject(block) ? thoughtOfBlock(block) : [])) : [];
}

function thoughtOf({ type, text, signature, data, format, id }: JsonObject): NeutralPart[] {
  const vendor = vendorNamed(format, id);
  if (vendor === null) return [];
  if (type === 'reasoning.text' && hasText(signature))
    return [{ type: 'reasoning', text: stringOr(text, ''), signature, vendor }];
  if (type !== 'reasoning.encrypted' || !hasText(data)) return [];
  // OpenRouter has these two vendors' proofs apart from the text.
  const isProof = vendor === 'gemini' || vendor === 'openai-responses';
  return [
    isProof ? { type: 'reasoning', text: '', signature: data, vendor } : { type: 'redacted-reasoning', data, vendor },
  ];
}

function vendorNamed(format: JsonValue | undefined, id: JsonValue | undefined): string | null {
  if (typeof id === 'string' && id.startsWith(idPrefix)) return id.slice(idPrefix.length);
  return (typeof format === 'string' ? vendorOf.get(format) : undefined) ?? null;
}

/** LiteLLM's form: blocks of Anthropic's. */
function thoughtOfBlock({ type, thinking, signature, data }: JsonObject): NeutralPart[] {
  const vendor = 'anthropic-messages';
  if (type === 'thinking' && hasText(signature))
    return [{ type: 'reasoning', text: stringOr(thinking, ''), signature, vendor }];
  return type === 'redacted_thinking' && hasText(data) ? [{ type: 'redacted-reasoning', data, vendor }] : [];
}

/**
 * The thought of a delta or message; '' when it has none. vLLM sends two names with the same text; OpenRouter a list
 * too, Snowflake that alone.
 */
export function thoughtIn(message: JsonObject): string {
  return namedThought(message) || listedThought(message);
}

/** Texts of a part of Mistral's content that is a thought. */
export function thoughtsIn(thinking: JsonValue | undefined): string[] {
  const thoughts = Array.isArray(thinking) ? thinking : [thinking];
  return thoughts.map((thought) => (isObject(thought) ? thought.text : thought)).filter(hasText);
}

/** The thought in the members that are text. */
export function namedThought({ reasoning_content: thought, reasoning }: JsonObject): string {
  // Each chunk of an answer is asked, so nothing else is entered for it.
  const text = typeof thought === 'string' && thought !== '' ? thought : reasoning;
  return typeof text === 'string' ? text : '';
}

/** The thought in the list, which may say again what the text members of other deltas said. */
export function listedThought({ reasoning_details: details }: JsonObject): string {
  if (!Array.isArray(details)) return '';
  return details.map((detail) => (isObject(detail) ? stringOr(detail.text ?? detail.summary, '') : '')).join('');
}

/*
 * Google's proof over the thought that led to a call, where Google's own OpenAI-compatible API has it and clients keep
 * it: `extra_content.google.thought_signature` of a call, and of a message or delta for its text.
 */

/** Vendor of these signatures in the neutral form. */
export const google = 'gemini';

/** The member of a call or message, or nothing for one without a signature or with another vendor's. */
export function extraContentOf(signed: { signature?: string; vendor?: string }): JsonObject {
  if (signed.signature === undefined || signed.vendor !== google) return {};
  return { extra_content: { google: { thought_signature: signed.signature } } };
}

export function signatureIn({
  extra_content: extra,
}: JsonObject): { signature: string; vendor: string } | Record<never, never> {
  const signature = isObject(extra) && isObject(extra.google) ? extra.google.thought_signature : undefined;
  return typeof signature === 'string' && signature !== '' ? { signature, vendor: google } : {};
}

/** Models of Google's want it back; others may refuse a member that they do not know. */
export function takesSignatures(model: string): boolean {
  return /gemini/i.test(model);
}

/** The messages without `extra_content`, of theirs or their calls; null when none has one. */
export function withoutSignatures(messages: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(messages) || !messages.some(hasSignature)) return null;
  return messages.map((message) => {
    if (!hasSignature(message)) return message;
    const { extra_content: _, ...rest } = message;
    return Array.isArray(rest.tool_calls) ? { ...rest, tool_calls: rest.tool_calls.map(withoutOne) } : rest;
  });
}

function withoutOne(call: JsonValue): JsonValue {
  if (!isObject(call) || call.extra_content === undefined) return call;
  const { extra_content: _, ...rest } = call;
  return rest;
}

function hasSignature(message: JsonValue): message is JsonObject {
  if (!isObject(message)) return false;
  if (message.extra_content !== undefined) return true;
  const { tool_calls: calls } = message;
  return Array.isArray(calls) && calls.some((call) => isObject(call) && call.extra_content !== undefined);
}

import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

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

import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/*
 * Google's proof over the thought that led to a call, where Google's own OpenAI-compatible API has it and clients keep
 * it: `tool_calls[].extra_content.google.thought_signature`.
 */

/** Vendor of these signatures in the neutral form. */
const google = 'gemini';

/** The call's member, or nothing for a call without a signature or with another vendor's. */
export function extraContentOf(call: { signature?: string; vendor?: string }): JsonObject {
  if (call.signature === undefined || call.vendor !== google) return {};
  return { extra_content: { google: { thought_signature: call.signature } } };
}

export function signatureIn(call: JsonObject): { signature: string; vendor: string } | Record<never, never> {
  const extra = call.extra_content;
  const signature = isObject(extra) && isObject(extra.google) ? extra.google.thought_signature : undefined;
  return typeof signature === 'string' && signature !== '' ? { signature, vendor: google } : {};
}

/** Models of Google's want it back; others may refuse a member that they do not know. */
export function takesSignatures(model: string): boolean {
  return /gemini/i.test(model);
}

/** The messages without the calls' `extra_content`; null when none has one. */
export function withoutSignatures(messages: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(messages) || !messages.some(hasSignature)) return null;
  return messages.map((message) => {
    if (!hasSignature(message)) return message;
    const calls = (message.tool_calls as JsonValue[]).map((call) => {
      if (!isObject(call) || call.extra_content === undefined) return call;
      const { extra_content: _, ...rest } = call;
      return rest;
    });
    return { ...message, tool_calls: calls };
  });
}

function hasSignature(message: JsonValue): message is JsonObject {
  if (!isObject(message) || !Array.isArray(message.tool_calls)) return false;
  return message.tool_calls.some((call) => isObject(call) && call.extra_content !== undefined);
}

import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/* Messages of OpenAI's format as services take them that check what an earlier model wrote. */

/**
 * Mistral: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9". Its ids stay; others become a hash, the same
 * one in each turn. Null: all fit.
 */
export function withShortCallIds(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { tool_calls: calls, tool_call_id: answered } = message;
    if (typeof answered === 'string' && !isShort(answered)) return { ...message, tool_call_id: shortened(answered) };
    if (!Array.isArray(calls) || calls.every((call) => !isObject(call) || isShort(call.id))) return message;
    return {
      ...message,
      tool_calls: calls.map((call) =>
        isObject(call) && !isShort(call.id) ? { ...call, id: shortened(String(call.id)) } : call,
      ),
    };
  });
}

const idChars = 9;
const short = /^[A-Za-z0-9]{9}$/;

function isShort(id: JsonValue | undefined): boolean {
  return typeof id === 'string' && short.test(id);
}

function shortened(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, idChars);
}

/**
 * DeepSeek and Moonshot refuse a turn with calls that has no thought, while their models think: another model wrote it,
 * or the client did not keep it. An empty one counts as none at Moonshot. Null: no turn lacks one.
 */
export function withThoughtsBesideCalls(messages: readonly JsonValue[]): JsonValue[] | null {
  return mended(messages, (message) => {
    const { role, tool_calls: calls, reasoning_content: thought } = message;
    const hasCalls = role === 'assistant' && Array.isArray(calls) && calls.length > 0;
    return !hasCalls || (typeof thought === 'string' && thought !== '')
      ? message
      : { ...message, reasoning_content: ' ' };
  });
}

function mended(messages: readonly JsonValue[], mend: (message: JsonObject) => JsonObject): JsonValue[] | null {
  const result = messages.map((message) => (isObject(message) ? mend(message) : message));
  return result.every((message, at) => message === messages[at]) ? null : result;
}

import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { FinishReason } from '../neutral/event.ts';
import { type Fault, fault } from '../neutral/outcome.ts';

/** The data of an event as the object that it must be; null for anything else. */
export function parsedData(data: string): JsonObject | null {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    value = parsedWithoutNaN(data);
  }
  return isObject(value) ? value : null;
}

/**
 * A JSON text; undefined for any other. A count of tokens that is NaN, as Python writes it, becomes -1: not a count
 * either.
 */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parsedWithoutNaN(text);
  }
}

const notANumber = /(?:[tT]okens|okenCount)"\s*:\s*-?(?:NaN|Infinity)\b/;

function parsedWithoutNaN(text: string): unknown {
  if (!notANumber.test(text)) return undefined;
  try {
    return JSON.parse(text.replaceAll(/((?:[tT]okens|okenCount)"\s*:\s*)-?(?:NaN|Infinity)\b/g, '$1-1'));
  } catch {
    return undefined;
  }
}

/** A member as the text that it should be. */
export function stringOr<T>(value: JsonValue | undefined, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}

/**
 * Whether unparsed data begins and ends as an object does: a page of HTML, a bare word or a cut line does not. Parsing
 * each of an answer's pieces to know would cost more than everything else that is done for them.
 */
export function looksWhole(data: string): boolean {
  return data.charCodeAt(0) === 0x7b && data.charCodeAt(data.length - 1) === 0x7d;
}

/** OpenAI's end mark; some servers write it in other formats too, or with blanks around it. */
export function isEndMark(data: string): boolean {
  return data.charCodeAt(0) !== 0x7b && data.trim() === '[DONE]';
}

/** Callers' own clients would break on such a line, or lose its content silently. */
export const brokenLine: Fault = Object.freeze(fault('malformed', 'sent an event that cannot be read'));

/** Words that Anthropic's Messages and Bedrock's Converse share. */
const stopReasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  stop_sequence: 'stop-sequence',
};

/**
 * A `stop_reason` → neutral; `ofDialect`: the words of one vendor. An unknown word is a plain stop: vendors add reasons over
 * time, and the answer is whole. `toolCalls`: tool calls that the answer made; they decide where the word does not say
 * so, because OpenAI's clients run tools by the finish reason. `unwrapped`: forced calls that carried structured output.
 */
export function finishReasonOf(
  stopReason: string,
  ofDialect: Readonly<Record<string, FinishReason>>,
  { toolCalls, unwrapped }: { toolCalls: number; unwrapped: number },
): FinishReason {
  const reasons = Object.hasOwn(ofDialect, stopReason) ? ofDialect : stopReasons;
  const reason = Object.hasOwn(reasons, stopReason) ? reasons[stopReason] : undefined;
  if (reason !== undefined) return reason;
  // The forced call is the answer's text, not a call.
  if (stopReason === 'tool_use') return toolCalls === 0 && unwrapped > 0 ? 'stop' : 'tool-calls';
  return toolCalls > 0 ? 'tool-calls' : 'stop';
}

import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type Fault, fault } from '../neutral/outcome.ts';

/** The data of an event as the object that it must be; null for anything else. */
export function parsedData(data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether data that is not parsed begins and ends as an object does: a page of HTML, a bare word or a line that was cut
 * does not. Parsing each of an answer's pieces to know would cost more than all else that is done for them.
 */
export function looksWhole(data: string): boolean {
  return data.charCodeAt(0) === 0x7b && data.charCodeAt(data.length - 1) === 0x7d;
}

/** OpenAI's end mark; some servers write it in other formats too, or with blanks around it. */
export function isEndMark(data: string): boolean {
  return data.charCodeAt(0) !== 0x7b && data.trim() === '[DONE]';
}

/** Callers' own clients would break on such a line, or lose what it said without a word. */
export const brokenLine: Fault = Object.freeze(fault('malformed', 'sent an event that cannot be read'));

import { type Fault, fault } from '../neutral/outcome.ts';
import type { PassingVerdict } from './dialect.ts';

// Most events say nothing but that: one object for all of them.
export const nothing: PassingVerdict = { content: false, fault: null, usageOnly: false };
export const contentOnly: PassingVerdict = { ...nothing, content: true };
export const contentAndUsage: PassingVerdict = { ...contentOnly, usageBeside: true };
export const usageChunk: PassingVerdict = { ...nothing, usageOnly: true };

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

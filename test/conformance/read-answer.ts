import { createParser } from 'eventsource-parser';
import type { SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { type Exchange, parsed } from './exchange.ts';
import { type Said, type SaidError, words } from './said.ts';
import { foldChat, saidByChat } from './said-chat.ts';
import { foldGemini, saidByGemini } from './said-gemini.ts';
import { foldMessage, saidByMessage } from './said-messages.ts';
import { foldResponse, isAbridged, saidByResponse } from './said-responses.ts';

type Reader = { fold: (events: readonly JsonObject[]) => JsonObject; said: (answer: JsonObject) => Said };

/** How an answer of each format is read, and a stream put together. */
export const readers: Readonly<Record<SharedDialectId, Reader>> = {
  'openai-chat': { fold: foldChat, said: saidByChat },
  'openai-responses': { fold: foldResponse, said: saidByResponse },
  'anthropic-messages': { fold: foldMessage, said: saidByMessage },
  gemini: { fold: foldGemini, said: saidByGemini },
};

/** What a recorded answer says, read from its own bytes and nothing of ours; null when it is cut or cut down, or no answer at all. */
export function readRecorded({ answer, form, status }: Exchange, dialect: SharedDialectId): Said | SaidError | null {
  const { fold, said } = readers[dialect];
  if (form === 'whole') {
    const value = parsed(answer);
    // Gemini streams an array when nobody asked for SSE.
    if (Array.isArray(value) && dialect === 'gemini') return said(fold(value.filter(isObject)));
    if (!isObject(value)) return null;
    if (status >= 400) return errorOf(value) ?? { error: words(value.detail) || words(value.message) };
    return errorOf(value) ?? (isAnswer(value, dialect) ? said(value) : null);
  }
  const events = eventsOf(answer);
  const failed = events.map(errorOf).find((error) => error !== null);
  if (failed !== undefined) return failed;
  if (events.length === 0 || !isEnded(events, answer, dialect)) return null;
  // Calls whose arguments come in parts: only a caller of Google's own format can ask for them.
  if (dialect === 'gemini' && answer.includes('"willContinue"')) return null;
  return dialect === 'openai-responses' && isAbridged(events) ? null : said(fold(events));
}

/** A response in the background is asked for again until it is there. */
function isAnswer(value: JsonObject, dialect: SharedDialectId): boolean {
  if (dialect === 'openai-chat') return Array.isArray(value.choices);
  return dialect !== 'openai-responses' || !/^(queued|in_progress|cancelled)$/.test(String(value.status));
}

/** Recorders keep what a test read of a stream, which may be its beginning. */
function isEnded(events: readonly JsonObject[], answer: string, dialect: SharedDialectId): boolean {
  if (dialect === 'openai-chat') return answer.includes('[DONE]');
  const last = events.at(-1)!;
  if (dialect === 'anthropic-messages') return events.some(({ type }) => type === 'message_stop');
  if (dialect === 'openai-responses') return /^response\.(completed|incomplete|failed)$/.test(String(last.type));
  return JSON.stringify(events).includes('"finishReason"') || isObject(last.promptFeedback);
}

function errorOf(value: JsonObject): SaidError | null {
  const { error, type, response } = value;
  if (isObject(response) && isObject(response.error)) return errorOf(response);
  if (isObject(error)) return { error: String(error.message ?? JSON.stringify(error)) };
  if (typeof error === 'string') return { error };
  return type === 'error' ? { error: String(value.message ?? '') } : null;
}

/** The JSON of each event of SSE text. */
export function eventsOf(text: string): JsonObject[] {
  const events: JsonObject[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      const value = parsed(data);
      if (isObject(value)) events.push(value);
    },
  });
  parser.feed(text.endsWith('\n\n') ? text : `${text}\n\n`);
  return events;
}

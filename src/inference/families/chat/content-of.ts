import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import type { NeutralPart, NeutralRequest } from '../../../formats/neutral/request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, parsedData, parsedJson } from '../../../kernel/json.ts';
import type { TracedContent } from '../../../kernel/trace.ts';
import { createSseReader } from '../../../upstream/transport/sse-reader.ts';
import { readCaller } from './other-words.ts';

/** A message as the GenAI conventions write it. */
interface Message {
  role: string;
  parts: JsonObject[];
  finish_reason?: string;
}

/** A longer request would hold up the loop for a text that nobody reads to its end. */
const requestBytesMax = 1024 * 1024;

/**
 * A conversation and its answer, both in the caller's format, as the messages of the GenAI conventions. Pictures, audio
 * and files are named without their bytes. Unreadable parts, such as a long answer that was cut, are left out.
 */
export function contentOf(dialectId: CallerDialectId, request: Buffer, answer: Buffer): TracedContent {
  return {
    input: JSON.stringify(requestMessages(dialectId, request)),
    output: JSON.stringify(messagesAnswered(eventsOf(dialectId, answer))),
  };
}

function requestMessages(dialectId: CallerDialectId, request: Buffer): Message[] {
  if (request.length > requestBytesMax) return [];
  const messages = requestOf(dialectId, request)?.neutral.messages ?? [];
  return messages.map(({ role, parts }) => ({ role, parts: parts.map(partOf) }));
}

/** A request in a caller's format, and its body as it came; null: it cannot be read. */
export function requestOf(
  dialectId: CallerDialectId,
  request: Buffer,
): { neutral: NeutralRequest; body: JsonObject } | null {
  const read = readCaller(request, dialectId);
  return isFailure(read) ? null : { neutral: read.read.neutral(), body: read.body };
}

function partOf(part: NeutralPart): JsonObject {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'refusal':
      return { type: 'text', content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: argumentsOf(part.argumentsJson) };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.callId, result: part.parts.map(partOf) };
    case 'image':
    case 'audio':
    case 'document':
      return { type: 'blob', modality: part.type };
    default:
      return { type: part.type };
  }
}

function argumentsOf(text: string): JsonObject | string {
  const value = parsedJson(text);
  return isObject(value) ? value : text;
}

/** Events of a whole or streamed answer in a caller's format. */
export function eventsOf(dialectId: CallerDialectId, answer: Buffer): readonly NeutralEvent[] {
  const dialect = dialects[dialectId];
  if (!('decodeWhole' in dialect)) return dialect.eventsOf?.(answer) ?? [];
  const whole = parsedData(answer.toString('utf8'));
  if (whole !== null) return dialect.decodeWhole(whole);
  const reader = createSseReader(dialect);
  const decoder = dialect.decodeStream();
  return reader.push(answer).flatMap((event) => [...decoder.step(event)]);
}

/** One message for each choice. */
function messagesAnswered(events: readonly NeutralEvent[]): Message[] {
  const choices: Message[] = [];
  const calls = new Map<string, JsonObject>();
  const of = (choice: number): Message => {
    choices[choice] ??= { role: 'assistant', parts: [] };
    return choices[choice];
  };
  const addMessage = (choice: number, type: string, text: string) => {
    const { parts } = of(choice);
    const last = parts.at(-1);
    if (last?.type === type) last.content = String(last.content) + text;
    else if (text !== '') parts.push({ type, content: text });
  };
  for (const event of events) {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        addMessage(event.choice, 'text', event.text);
        break;
      case 'reasoning-delta':
        addMessage(event.choice, 'reasoning', event.text);
        break;
      case 'tool-call-start': {
        const call = { type: 'tool_call', id: event.id, name: event.name, arguments: '' };
        calls.set(`${event.choice} ${event.call}`, call);
        of(event.choice).parts.push(call);
        break;
      }
      case 'tool-call-delta': {
        const call = calls.get(`${event.choice} ${event.call}`);
        if (call !== undefined) call.arguments = String(call.arguments) + event.argumentsJson;
        break;
      }
      case 'finish':
        of(event.choice).finish_reason = event.reason.replaceAll('-', '_');
        break;
      default:
    }
  }
  for (const call of calls.values()) call.arguments = argumentsOf(String(call.arguments));
  return choices.filter((choice) => choice !== undefined);
}

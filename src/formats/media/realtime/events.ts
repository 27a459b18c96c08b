import type { ErrorContext, Failure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { type JsonObject, parsedData, scanJson } from '../../../kernel/json.ts';
import { jsonDepthMax } from '../../../kernel/limits.ts';
import { loopWidthMax } from '../../../kernel/parse-object.ts';
import { openAiChat } from '../../dialects/openai-chat/index.ts';

/** A message of a realtime session, as it came or as it goes. */
export type Frame = Buffer | string;

/** An event of OpenAI's realtime API, either way. */
export interface RealtimeEvent extends JsonObject {
  type: string;
}

/** Why a value in an event of the caller's is refused. */
export interface WrongValue {
  /** Path of the value, such as `session.tool_choice`. */
  param: string;
  message: string;
}

export const notAnEvent = `The message is no event. Send a JSON object with a 'type', nested at most ${jsonDepthMax} levels, with at most ${loopWidthMax.structure} objects and members.`;

/** The event in a frame; null when it holds none. */
export function eventIn(frame: Frame): RealtimeEvent | null {
  const event = messageIn(frame);
  return event !== null && typeof event.type === 'string' ? (event as RealtimeEvent) : null;
}

/** The JSON object in a frame; null when it holds none, or one that would hold up the loop (faults.md S35). */
export function messageIn(frame: Frame): JsonObject | null {
  const scan = scanJson(typeof frame === 'string' ? Buffer.from(frame) : frame, jsonDepthMax, loopWidthMax);
  return scan.tooDeep || scan.tooWide ? null : parsedData(frame.toString());
}

/**
 * Whether a frame may hold an event of this type: a look at its bytes, since most frames are sound that nobody here
 * has to parse.
 */
export function mayBe(frame: Frame, type: string): boolean {
  // Escapes hide letters.
  return frame.includes(`"${type}"`) || frame.includes('\\u');
}

export function errorEvent(failure: Failure, context: ErrorContext, eventId: string): RealtimeEvent {
  const { error } = openAiChat.errorBody(failure, context);
  const { type, param } = factsOf(failure, context.nowMs);
  // Here clients expect a word, not a status.
  const code = failure.kind.replaceAll('-', '_');
  return { type: 'error', event_id: eventId, error: { ...(error as JsonObject), type, code, param, event_id: null } };
}

import type { ErrorContext, Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { StreamMark } from '../dialect.ts';
import { errorBody as openAiBody } from '../openai-chat/errors.ts';
import { frameOf } from './encode-answer.ts';

/** Cohere's `message` and `id`, and the members that errors have in other formats. */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { message = '', ...members } = openAiBody(failure, context).error as JsonObject;
  return { id: context.requestId, message, ...members };
}

/** The end of a message that failed, as Cohere ends it. */
export function errorFrame(failure: Failure, context: ErrorContext, mark?: StreamMark): string {
  const { message, id } = errorBody(failure, context);
  return frameOf('message-end', { id: mark?.id ?? id, delta: { error: message, finish_reason: 'ERROR' } });
}

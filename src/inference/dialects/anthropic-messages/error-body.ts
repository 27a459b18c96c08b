import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { errorBody as openAiErrorBody } from '../openai-chat/errors.ts';
import { promptTooLong } from './prompt-too-long.ts';

/**
 * The body of an error answer: the same `error` as everywhere, in the wrapping without which Anthropic's clients show
 * only the status (clients.md §5). `nowMs` is wall-clock time.
 */
export function errorBody(failure: Failure, requestId: string, nowMs: number): JsonObject {
  const { error } = openAiErrorBody(failure, requestId, nowMs) as { error: JsonObject };
  const message = promptTooLong(failure, error.message as string);
  return {
    type: 'error',
    error: message === null ? error : { ...error, message },
    request_id: requestId,
  };
}

/** The last frame of a broken stream. No message_stop follows: a cut answer must not look like a finished one. */
export function errorFrame(failure: Failure, requestId: string, nowMs: number): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(failure, requestId, nowMs))}\n\n`;
}

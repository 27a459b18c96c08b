import type { ErrorContext, Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { CallerDialect } from '../dialect.ts';
import { openAiChat } from '../openai-chat/index.ts';
import { encodeStream, fold, lineOf } from './encode-answer.ts';
import { eventsOf } from './read-answer.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';

/** Ollama's API, as callers speak it. Servers of it are asked in OpenAI's format. */
export const ollama: CallerDialect = {
  id: 'ollama',
  // Space before a line of JSON: clients try to parse an empty line.
  wire: { type: 'application/x-ndjson', keepAlive: () => ' ' },
  readRequest,
  requestSchema,
  objects,
  encodeStream,
  fold,
  eventsOf,
  readInPassing() {
    throw new Error('no provider answers in the format of Ollama');
  },
  errorBody,
  errorFrame: (failure, context) => lineOf(errorBody(failure, context)),
};

/** Body of an error. Its clients show `error`, a text; other members have what other formats say of an error. */
function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { message = '', ...beside } = openAiChat.errorBody(failure, context).error as JsonObject;
  return { error: message, ...beside };
}

import { type ErrorContext, type Failure, statusOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { errorBody as openAiBody } from '../openai-chat/errors.ts';
import { frameOf } from './encode-answer.ts';

/** The `error` of other formats, with the type by which the AI SDK makes its error. */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const error = openAiBody(failure, context).error as JsonObject;
  const param = failure.kind === 'model-unknown' ? { modelId: failure.model } : error.param;
  return { error: { ...error, type: typeOf(failure), param }, generationId: context.requestId };
}

/** The last part of a broken stream. No `finish` follows. */
export function errorFrame(failure: Failure, context: ErrorContext): string {
  return frameOf({ type: 'error', error: errorBody(failure, context).error });
}

/** Event of a video that did not come. */
export function videoErrorFrame(failure: Failure, context: ErrorContext): string {
  const { message, type: errorType, param } = errorBody(failure, context).error as JsonObject;
  return frameOf({ type: 'error', message, errorType, statusCode: statusOf(failure), param: param ?? null });
}

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limit_exceeded',
};

function typeOf(failure: Failure): string {
  if (failure.kind === 'model-unknown') return 'model_not_found';
  if (failure.kind === 'upstreams-failed') return 'failed_dependency';
  const status = statusOf(failure);
  return types[status] ?? (status >= 500 ? 'internal_server_error' : 'invalid_request_error');
}

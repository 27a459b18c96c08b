import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import type { UpstreamError } from '../dialect.ts';
import { classOfError } from '../openai-chat/error-class.ts';
import { readError as readChatError } from '../openai-chat/read-error.ts';

/** The error in a body: OpenAI's shapes as everywhere, that of a failed response, and a stream's bare `error` event. */
export function readError(body: unknown): UpstreamError | null {
  if (isObject(body) && body.object === 'response') {
    if (isObject(body.error)) return readChatError({ error: body.error });
    return body.status === 'failed' || body.status === 'cancelled'
      ? { message: `the response is ${body.status}`, code: 'server_error', param: null }
      : null;
  }
  if (isObject(body) && body.type === 'error' && !isObject(body.error)) {
    const { code, message, param } = body;
    return readChatError({ error: { code: code ?? 'server_error', message: message ?? '', param: param ?? null } });
  }
  return readChatError(body);
}

/** The fault of an error that stands inside a successful answer; `body` holds one. */
export function faultInside(body: JsonObject): Fault {
  const error = readError(body);
  const found = fault(
    classOfError(null, error ?? { message: '', code: 'server_error', param: null }),
    error?.message ?? 'an error without a description',
  );
  if (error === null) return found;
  return {
    ...found,
    ...(error.code !== '' && { code: error.code }),
    ...(error.param !== null && { param: error.param }),
  };
}

import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Fault } from '../../neutral/outcome.ts';
import type { UpstreamError } from '../dialect.ts';
import { faultInside as faultOf } from '../fault-inside.ts';
import { classOfError, readError as readChatError } from '../openai-chat/errors.ts';

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
  const error = readError(body) ?? { message: 'an error without a description', code: 'server_error', param: null };
  return faultOf(body, error, classOfError);
}

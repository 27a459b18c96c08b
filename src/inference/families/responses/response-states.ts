import type { JsonObject } from '../../../kernel/json.ts';

/** Whether a response in this state has come to its end. */
export function hasEnded(status: string): boolean {
  return status !== 'queued' && status !== 'in_progress';
}

/** A response that the end of its process cut off. */
export function interruptedResponse(response: JsonObject): JsonObject {
  const message = 'The server was stopped while this response ran. Send the request again.';
  return failedResponse(response, 'server_error', message);
}

export function failedResponse(response: JsonObject, code: string, message: string): JsonObject {
  return { ...response, status: 'failed', error: { code, message } };
}

export function cancelledResponse(response: JsonObject): JsonObject {
  return { ...response, status: 'cancelled' };
}

import { type Failure, factsOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { StreamMark } from '../dialect.ts';
import { quotaMembers } from '../quota-members.ts';
import { callersWord } from './callers-word.ts';
import { frameOf } from './encode-stream.ts';
import { errorCode } from './error-code.ts';
import { responseObject, saltOf } from './response-object.ts';

/**
 * The body of an error answer: as everywhere, but for `code`, which is a string here. Codex loses the message of an
 * integer one, and acts on the words (clients.md §2, §9).
 */
export function errorBody(failure: Failure, requestId: string, nowMs: number): JsonObject {
  const facts = factsOf(failure, nowMs);
  return {
    error: {
      message: facts.message,
      type: facts.type,
      code: errorCode(failure, facts),
      // Others find faults by the words of chat: an upstream, or the filter of targets that are able.
      param: facts.param === null ? null : callersWord(facts.param, () => []),
      request_id: requestId,
      ...quotaMembers(facts),
    },
  };
}

/**
 * The last frame of a stream that cannot go on. When nothing was sent `response.created` stands before it, because
 * OpenAI's SDK refuses any other beginning; when something was, the id must be the one that was sent.
 */
export function errorFrame(failure: Failure, requestId: string, nowMs: number, mark?: StreamMark): string {
  const facts = factsOf(failure, nowMs);
  const state = { status: 'failed', code: errorCode(failure, facts), message: facts.message } as const;
  const response = {
    id: mark?.id ?? `resp_${saltOf(requestId)}`,
    createdS: Math.floor(nowMs / 1_000),
    model: 'model' in failure ? failure.model : '',
    echo: undefined,
    output: [],
    usage: null,
  };
  const failed = (sequence: number) =>
    frameOf('response.failed', sequence, `,"response":${JSON.stringify(responseObject(response, state))}`);
  if (mark !== undefined) return failed(mark.sequence);
  const begun = JSON.stringify(responseObject(response, { status: 'in_progress' }));
  return frameOf('response.created', 0, `,"response":${begun}`) + failed(1);
}

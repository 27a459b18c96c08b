import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Failure } from '../../kernel/failure.ts';
import { requestIdMs } from '../../kernel/ids.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { Route } from '../exchange.ts';

/** Error bodies of the vector API: ours, with Qdrant's `status` and `time` (seconds) beside, which its clients read. */
export const vectorErrors: Route['dialect'] = {
  errorBody(failure, requestId, nowMs) {
    return withQdrantMembers(openAiChat.errorBody(failure, requestId, nowMs), requestId, nowMs);
  },
  // No call of the vector API streams.
  errorFrame: (failure: Failure, requestId: string, nowMs: number) =>
    JSON.stringify(vectorErrors.errorBody(failure, requestId, nowMs)),
};

function withQdrantMembers(body: JsonObject, requestId: string, nowMs: number): JsonObject {
  const message = isObject(body.error) ? body.error.message : undefined;
  return { ...body, status: { error: message }, time: Math.max(0, nowMs - requestIdMs(requestId)) / 1_000 };
}

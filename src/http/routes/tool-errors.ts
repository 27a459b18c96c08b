import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Failure } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { Route } from '../exchange.ts';

/** Error bodies of the web tools: ours, with `success: false` beside and the `reason` of a page that was refused. */
export const toolErrors: Route['dialect'] = dialectOf((error) => ({ success: false, error }));

/**
 * The same where Firecrawl's SDK asks, which shows `error` as the message of its exception and `code` as its code: ours
 * whole is in `details`.
 */
export const firecrawlErrors: Route['dialect'] = dialectOf((error) => ({
  success: false,
  error: error.message,
  code: error.reason ?? error.type,
  details: error,
}));

function dialectOf(shape: (error: JsonObject) => JsonObject): Route['dialect'] {
  const errorBody = (failure: Failure, requestId: string, nowMs: number) => {
    const { error } = openAiChat.errorBody(failure, requestId, nowMs);
    const reason = failure.kind === 'page-refused' ? { reason: failure.code } : {};
    return shape({ ...(isObject(error) ? error : {}), ...reason });
  };
  return {
    errorBody,
    // No call of a tool streams.
    errorFrame: (failure, requestId, nowMs) => JSON.stringify(errorBody(failure, requestId, nowMs)),
  };
}

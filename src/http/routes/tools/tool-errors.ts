import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { ErrorContext, Failure } from '../../../kernel/failure.ts';
import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import type { Route } from '../../exchange.ts';

/** Error bodies of the web tools: ours, with `success: false` and the `reason` of a page that was refused. */
export const toolErrors: Route['dialect'] = dialectOf((error) => ({ success: false, error }));

/**
 * The same where Firecrawl's SDKs ask, which show `error` as the message of their exception, `code` as its code, and
 * `details` behind it: the other members of ours.
 */
export const firecrawlErrors: Route['dialect'] = dialectOf(({ message, ...details }) => ({
  success: false,
  error: message,
  code: details.reason ?? details.type,
  details,
}));

function dialectOf(shape: (error: JsonObject) => JsonObject): Route['dialect'] {
  const errorBody = (failure: Failure, context: ErrorContext) => {
    const { error } = openAiChat.errorBody(failure, context);
    const reason = failure.kind === 'page-refused' ? { reason: failure.code } : {};
    return shape({ ...objectIn(error), ...reason });
  };
  // No call of a tool streams.
  return { errorBody, errorFrame: (failure, context) => JSON.stringify(errorBody(failure, context)) };
}

import { type ErrorContext, type Failure, statusOf } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Fault, FaultClass } from '../../neutral/outcome.ts';
import { classOfStatus } from '../class-of-status.ts';
import type { UpstreamError } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { errorBody as openAiBody } from '../openai-chat/errors.ts';

const messageCharsMax = 2_000;

/**
 * Reads `{message}` with the exception's name in `__type`, as AWS services answer, and `{error: {type, message}}`, the
 * form of an exception inside a stream. Null if there is no message.
 */
export function readError(body: unknown): UpstreamError | null {
  if (!isObject(body)) return null;
  const error = isObject(body.error) ? body.error : body;
  const message = error.message ?? error.Message;
  const name = error.type ?? error.__type ?? body.code;
  if (typeof message !== 'string' && typeof error.__type !== 'string') return null;
  // `com.amazonaws.bedrock#ThrottlingException`
  const code = typeof name === 'string' ? name.slice(name.lastIndexOf('#') + 1) : '';
  const text = typeof message === 'string' ? message.slice(0, messageCharsMax) : '';
  return { message: text || code || 'The provider did not describe its error.', code, param: null };
}

/** The fault of an exception inside a stream, or of an error body inside a 200. */
export function faultOfError(body: JsonObject): Fault {
  const error = readError(body) ?? { message: 'The provider did not describe its error.', code: '', param: null };
  return faultInside(body, error, classOfBedrockError);
}

const aboutModel =
  /model identifier is invalid|on-demand throughput|inference profile|access to the model|model access|end of its life|operation not allowed|model.{0,40}(?:not found|not supported|legacy)/i;
const aboutRegion = /not (?:available|supported) in (?:this|your) (?:country|region|location)|unsupported countr/i;
const spentForToday = /too many tokens per day|daily (?:token )?(?:limit|quota)/i;

/** Class of a Bedrock error by HTTP status and words (Bedrock's API reference, "Common errors" and each operation's). */
export function classOfBedrockError(status: number, error: UpstreamError | null): FaultClass {
  const message = error?.message ?? '';
  if (aboutRegion.test(message)) return 'region_blocked';
  if (spentForToday.test(message) || error?.code === 'ServiceQuotaExceededException') return 'quota_exhausted';
  if ((status === 400 || status === 403) && aboutModel.test(message)) return 'model_unavailable';
  // 424: the model took too long, or failed itself.
  return status === 424 ? 'transient' : classOfStatus(status);
}

/** AWS's `message` and `__type`, and the members that errors have in other formats. */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  // AWS's clients take `code` for the name of the exception.
  const { message = '', code: _, ...members } = openAiBody(failure, context).error as JsonObject;
  return { message, __type: exceptionOf(failure, context.nowMs), ...members };
}

/** By which AWS's clients know an error, before they look at its body. */
export function errorHeaders(failure: Failure, { requestId, nowMs }: ErrorContext): string[] {
  return ['x-amzn-errortype', exceptionOf(failure, nowMs), 'x-amzn-requestid', requestId];
}

/** The exception that ends a broken stream: those of ConverseStream and InvokeModelWithResponseStream alike. */
export function errorFrame(failure: Failure, context: ErrorContext): string {
  const name = exceptionOf(failure, context.nowMs);
  const inStream = inStreams[name] ?? 'internalServerException';
  return `event: ${inStream}\ndata: ${JSON.stringify(errorBody(failure, context))}\n\n`;
}

const inStreams: Readonly<Record<string, string>> = {
  ValidationException: 'validationException',
  AccessDeniedException: 'validationException',
  ThrottlingException: 'throttlingException',
  ServiceQuotaExceededException: 'throttlingException',
  ServiceUnavailableException: 'serviceUnavailableException',
  ModelErrorException: 'modelStreamErrorException',
  ModelTimeoutException: 'modelStreamErrorException',
};

/** AWS's clients repeat a throttled call within seconds: a limit that lasts longer is a quota. */
const throttledMsMax = 60_000;

const exceptions: Readonly<Record<number, string>> = {
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  409: 'ConflictException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  502: 'ModelErrorException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
};

function exceptionOf(failure: Failure, nowMs: number): string {
  if (failure.kind === 'upstreams-failed') return 'ModelErrorException';
  if (failure.kind === 'quota-exceeded') {
    const { retryAfterMs } = factsOf(failure, nowMs);
    return retryAfterMs === null || retryAfterMs > throttledMsMax
      ? 'ServiceQuotaExceededException'
      : 'ThrottlingException';
  }
  const status = statusOf(failure);
  return exceptions[status] ?? (status >= 500 ? 'InternalServerException' : 'ValidationException');
}

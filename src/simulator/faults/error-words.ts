import type { ErrorWords } from '../endpoints/speech.ts';
import type { FaultSpec } from './fault-spec.ts';

const messageByCode: Readonly<Record<string, string>> = {
  insufficient_quota: 'You exceeded your current quota, please check your plan and billing details.',
  context_length_exceeded:
    "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
  model_not_found: 'The model does not exist or you do not have access to it.',
};
const statusByCode: Readonly<Record<string, number>> = {
  insufficient_quota: 429,
  rate_limit_exceeded: 429,
  invalid_api_key: 401,
  model_not_found: 404,
  rate_limit_error: 429,
  authentication_error: 401,
  overloaded_error: 529,
  api_error: 500,
  server_error: 500,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  RESOURCE_EXHAUSTED: 429,
};
const messageByStatus: Readonly<Record<number, string>> = {
  400: 'The request could not be understood.',
  401: 'Incorrect API key provided.',
  402: 'Your credit balance is too low.',
  403: 'Your key may not use this resource.',
  404: 'The requested resource does not exist.',
  408: 'The request took too long.',
  413: 'The request is too large.',
  422: 'The request has values that cannot be processed.',
  429: 'Rate limit reached. Please try again later.',
  500: 'The server had an error while processing your request.',
  502: 'Bad gateway.',
  503: 'The engine is currently overloaded, please try again later.',
  504: 'The upstream took too long.',
  529: 'Overloaded',
};

/** The status of a spec that fails by its words alone, such as `code=insufficient_quota` or `echo-auth`. */
export function failingStatusOf(spec: FaultSpec): number {
  if (spec.status !== undefined) return spec.status;
  if (spec['echo-auth']) return 401;
  return (spec.code === undefined ? undefined : statusByCode[spec.code]) ?? 400;
}

/** `credentials` is what the request carried, for `echo-auth`. */
export function errorWordsOf(spec: FaultSpec, status: number, credentials: string): ErrorWords {
  const reason =
    spec.message ?? (spec.code === undefined ? undefined : messageByCode[spec.code]) ?? messageByStatus[status];
  const message = reason ?? `Something failed with status ${status}.`;
  return {
    status,
    message: spec['echo-auth'] ? `${message} Received: ${credentials}` : message,
    code: spec.code ?? null,
    type: spec.type ?? null,
    param: null,
  };
}

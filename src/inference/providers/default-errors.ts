import type { UpstreamError } from '../dialects/dialect.ts';
import type { FaultClass } from '../neutral/outcome.ts';

/** Error codes and types of the OpenAI dialect that mean the same whatever the status. */
const classByCode: Readonly<Record<string, FaultClass>> = {
  context_length_exceeded: 'caller_fault',
  string_above_max_length: 'caller_fault',
  content_filter: 'caller_fault',
  content_policy_violation: 'caller_fault',
  invalid_prompt: 'caller_fault',
  request_too_large: 'caller_fault',
  unsupported_parameter: 'caller_fault',
  unsupported_value: 'caller_fault',
  insufficient_quota: 'quota_exhausted',
  billing_hard_limit_reached: 'quota_exhausted',
  billing_not_active: 'quota_exhausted',
  billing_error: 'quota_exhausted',
  insufficient_balance: 'quota_exhausted',
  invalid_api_key: 'bad_credential',
  authentication_error: 'bad_credential',
  account_deactivated: 'bad_credential',
  model_not_found: 'model_unavailable',
  unknown_model: 'model_unavailable',
  model_not_available: 'model_unavailable',
  DeploymentNotFound: 'model_unavailable',
  unsupported_country_region_territory: 'region_blocked',
  rate_limit_exceeded: 'rate_limited',
  rate_limit_error: 'rate_limited',
  server_error: 'transient',
  overloaded_error: 'transient',
};

/** Words by which services without codes say the same; looked for in 4xx answers only. */
const tooLong = /context (length|window|size)|prompt is too long|too many (input )?tokens|maximum (context|prompt)/i;
const outOfMoney = /exceeded your current quota|credit balance is too low|insufficient (balance|credits|funds|quota)/i;
const refusedRegion = /(country|region|territory|location)[^.]{0,40}(not supported|unsupported|not available)/i;
const refusedContent = /content (management )?policy|content.filter|moderation|flagged|safety system/i;
const aboutModel = /\b(model|deployment|engine)s?\b/i;
const aboutContent =
  /\b(file|image|url|document|response|conversation|thread|message|item)s?\b[^.]{0,60}\bnot (be )?found/i;

/**
 * The class of an upstream's non-2xx answer, or of an error inside a 200, as its dialect means it (design §8).
 * `error` is null when the body could not be read as the dialect's error.
 */
export function defaultErrorClass(status: number, error: UpstreamError | null): FaultClass {
  const code = error?.code ?? '';
  if (status < 400) return insideSuccess(status, code, error);
  if (status >= 500) return code === 'insufficient_quota' ? 'quota_exhausted' : 'transient';
  const byCode = Object.hasOwn(classByCode, code) ? classByCode[code] : undefined;
  // A 403 or 404 may carry a general code; the words below know more about it than the code does.
  if (byCode !== undefined && !(byCode === 'rate_limited' && status !== 429 && status !== 413)) return byCode;
  const message = error?.message ?? '';
  switch (status) {
    case 401:
      return 'bad_credential';
    case 402:
      return 'quota_exhausted';
    case 403:
      return forbidden(error, message);
    case 404:
      return notFound(error, message);
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return outOfMoney.test(message) ? 'quota_exhausted' : 'caller_fault';
    case 410:
      return 'model_unavailable';
    case 429:
      return outOfMoney.test(message) ? 'quota_exhausted' : 'rate_limited';
    case 451:
      return 'region_blocked';
    default:
      // 405, 408, 425 and whatever else says nothing of the caller's body: another target may well answer.
      return 'transient';
  }
}

function forbidden(error: UpstreamError | null, message: string): FaultClass {
  if (refusedRegion.test(message)) return 'region_blocked';
  if (refusedContent.test(message) || tooLong.test(message)) return 'caller_fault';
  if (outOfMoney.test(message)) return 'quota_exhausted';
  return error?.param === 'model' || aboutModel.test(message) ? 'model_unavailable' : 'bad_credential';
}

function notFound(error: UpstreamError | null, message: string): FaultClass {
  if (error?.param === 'model') return 'model_unavailable';
  if (typeof error?.param === 'string' && error.param !== '') return 'caller_fault';
  if (aboutModel.test(message)) return 'model_unavailable';
  return aboutContent.test(message) ? 'caller_fault' : 'model_unavailable';
}

/** An error told under a 2xx or 3xx status: its own code decides, a bare one is an answer that is none. */
function insideSuccess(status: number, code: string, error: UpstreamError | null): FaultClass {
  if (status >= 300 || error === null) return status >= 300 ? 'transient' : 'malformed';
  if (Object.hasOwn(classByCode, code)) return classByCode[code]!;
  // OpenRouter: the HTTP status it could no longer send.
  if (/^[45]\d\d$/.test(code)) return defaultErrorClass(Number(code), { ...error, code: '' });
  return 'malformed';
}

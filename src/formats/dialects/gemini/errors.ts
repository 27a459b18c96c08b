import { errorUrlOf } from '../../../kernel/error-topic.ts';
import { type ErrorContext, type Failure, reportedByProvider } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import type { Fault, FaultClass } from '../../neutral/outcome.ts';
import { classOfStatus } from '../class-of-status.ts';
import type { UpstreamError } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';

const words: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;

/** The body of an error answer as Google's clients read it: google.rpc.Status, with facts that a caller can act on. */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { status, message, param, quota, retryAfterMs, type: reason } = factsOf(failure, context.nowMs);
  const details: JsonObject[] = [
    {
      '@type': type('ErrorInfo'),
      reason: reason.toUpperCase(),
      domain: 'culvert',
      metadata: { ...vendorWords(failure), request_id: context.requestId },
    },
  ];
  if (param !== null) {
    details.push({ '@type': type('BadRequest'), fieldViolations: [{ field: param, description: message }] });
  }
  if (quota !== null) {
    const { limit, used, allowed } = quota;
    const violation = { subject: limit, description: `${used} of ${allowed} used` };
    details.push({ '@type': type('QuotaFailure'), violations: [violation] });
  }
  if (retryAfterMs !== null) {
    details.push({ '@type': type('RetryInfo'), retryDelay: `${Math.ceil(retryAfterMs / 1_000)}s` });
  }
  const url = errorUrlOf(failure, context.publicUrl);
  details.push({ '@type': type('Help'), links: [{ description: 'Cause and remedy', url }] });
  return {
    error: {
      code: status,
      message,
      status: words[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
      details,
    },
  };
}

/** Members of an error of a provider of another format: Google's metadata are texts. */
function vendorWords(failure: Failure): Record<string, string> {
  const { code, members } = reportedByProvider(failure);
  return Object.fromEntries(
    Object.entries({ ...members, code }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : JSON.stringify(value)]],
    ),
  );
}

/** Last frame of a broken stream: no candidate of it has a reason. */
export function errorFrame(failure: Failure, context: ErrorContext): string {
  return `data: ${JSON.stringify(errorBody(failure, context))}\r\n\r\n`;
}

const messageCharsMax = 2_000;
const detailsMax = 32;
const nameless = 'The error has no description.';

/**
 * Reads `{error: {code, message, status, details}}` (google.rpc.Status), alone or as the first of an array, as streams
 * asked without `alt=sse` send it. `code` is the ErrorInfo's reason if there is one (`API_KEY_INVALID`), else the
 * status; a quota of a whole day has a separate code, `RESOURCE_EXHAUSTED_PER_DAY`.
 */
export function readError(body: unknown): UpstreamError | null {
  const holder: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(holder)) return null;
  const error = holder.error;
  if (typeof error === 'string') return { message: error.slice(0, messageCharsMax), code: '', param: null };
  if (!isObject(error)) return null;
  const details = Array.isArray(error.details) ? error.details.slice(0, detailsMax).filter(isObject) : [];
  const message = typeof error.message === 'string' ? error.message.slice(0, messageCharsMax) : '';
  const code = codeOf(error, details);
  const read: UpstreamError = { message: message || code || nameless, code, param: blamedField(details) };
  const retryAfterMs = retryDelayMs(details);
  if (retryAfterMs !== null) read.retryAfterMs = retryAfterMs;
  return read;
}

function codeOf(error: JsonObject, details: readonly JsonObject[]): string {
  const status =
    typeof error.status === 'string' ? error.status : typeof error.code === 'number' ? `${error.code}` : '';
  if (status === 'RESOURCE_EXHAUSTED' || status === '429') {
    return violations(details).some(({ quotaId }) => typeof quotaId === 'string' && /PerDay/i.test(quotaId))
      ? 'RESOURCE_EXHAUSTED_PER_DAY'
      : 'RESOURCE_EXHAUSTED';
  }
  const reason = details.find((detail) => isOf(detail, 'ErrorInfo'))?.reason;
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, 100) : status;
}

function violations(details: readonly JsonObject[]): JsonObject[] {
  const list = details.find((detail) => isOf(detail, 'QuotaFailure'))?.violations;
  return objectsIn(list);
}

function isOf(detail: JsonObject, type: string): boolean {
  return typeof detail['@type'] === 'string' && detail['@type'].endsWith(`google.rpc.${type}`);
}

/** The field of the body that we sent, where Google names it; its spelling is not the caller's. */
function blamedField(details: readonly JsonObject[]): string | null {
  const list = details.find((detail) => isOf(detail, 'BadRequest'))?.fieldViolations;
  const first: JsonValue | undefined = Array.isArray(list) ? list[0] : undefined;
  return isObject(first) && typeof first.field === 'string' && first.field !== '' ? first.field.slice(0, 200) : null;
}

const retryDelayMaxMs = 5 * 60_000;

/** RetryInfo's `"34.07s"`. Google sends no Retry-After with it. */
function retryDelayMs(details: readonly JsonObject[]): number | null {
  const delay = details.find((detail) => isOf(detail, 'RetryInfo'))?.retryDelay;
  const match = typeof delay === 'string' ? /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(delay) : null;
  return match === null ? null : Math.min(Math.ceil(Number(match[1]) * 1_000), retryDelayMaxMs);
}

/** The fault of an error inside a stream, or of an error body inside a 200: no HTTP status speaks for it. */
export function faultOfError(body: unknown, error: UpstreamError): Fault {
  return faultInside(body, error, classOfGeminiError);
}

const classByCode: ReadonlyMap<string, FaultClass> = new Map([
  ['API_KEY_INVALID', 'bad_credential'],
  ['API_KEY_EXPIRED', 'bad_credential'],
  ['API_KEY_SERVICE_BLOCKED', 'bad_credential'],
  ['SERVICE_DISABLED', 'bad_credential'],
  ['CONSUMER_INVALID', 'bad_credential'],
  ['CONSUMER_SUSPENDED', 'bad_credential'],
  ['UNAUTHENTICATED', 'bad_credential'],
  ['BILLING_DISABLED', 'quota_exhausted'],
  ['RESOURCE_EXHAUSTED_PER_DAY', 'quota_exhausted'],
  ['INTERNAL', 'transient'],
  ['UNAVAILABLE', 'transient'],
  ['DEADLINE_EXCEEDED', 'transient'],
  ['CANCELLED', 'transient'],
  ['ABORTED', 'transient'],
  ['UNKNOWN', 'transient'],
]);

// Every 429 of Google's says "check your plan and billing details": that alone means nothing.
const spent =
  /limit: 0\b|credits? (?:is|are) depleted|spending (?:cap|limit)|enable billing|billing (?:is|has been) disabled/i;
const aboutKey = /\bapi[ _]key\b/i;
const aboutRegion = /user location is not supported|not available in your (?:country|region|location)/i;
const aboutFile = /\bfile\b|\bcachedcontent\b/i;
const aboutModel = /\bmodels?\b/i;

/**
 * Class of a Google error by HTTP status and code. `status` 200 means an error inside a successful answer, where the
 * code alone decides.
 */
export function classOfGeminiError(status: number, error: UpstreamError | null): FaultClass {
  const code = error?.code ?? '';
  const message = error?.message ?? '';
  if (aboutRegion.test(message)) return 'region_blocked';
  if (code !== 'INTERNAL' && spent.test(message)) return 'quota_exhausted';
  const byCode = classByCode.get(code);
  if (byCode !== undefined) return byCode;
  return classBy(status >= 300 ? status : (statusByCode.get(code) ?? (Number(code) || 0)), message);
}

const statusByCode: ReadonlyMap<string, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['ALREADY_EXISTS', 409],
  ['RESOURCE_EXHAUSTED', 429],
  ['UNIMPLEMENTED', 501],
]);

function classBy(status: number, message: string): FaultClass {
  const isAboutModel = aboutModel.test(message);
  if (status === 400 && aboutKey.test(message)) return 'bad_credential';
  if (status === 403 && aboutFile.test(message)) return 'caller_fault';
  if (status === 403 && isAboutModel) return 'model_unavailable';
  if (status === 404 && aboutFile.test(message) && !isAboutModel) return 'caller_fault';
  return status === 501 ? 'model_unavailable' : classOfStatus(status);
}

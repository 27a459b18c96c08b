import type { JsonObject } from './json.ts';

/**
 * Everything that can be answered instead of a result, as one union. A dialect writes its own body from the same
 * Failure; status, type and wording are here once, so that a forgotten kind does not compile.
 */
export type Failure =
  | InvalidRequest
  | { kind: 'unauthenticated'; message: string }
  | { kind: 'forbidden'; message: string }
  /** `param`: the field that names it; absent: `model`. */
  | {
      kind: 'model-unknown' | 'model-not-in-plan';
      model: string;
      allowedModels: readonly string[];
      nearest: string | null;
      param?: string;
      /** Why no model of the kind is here at all, a sentence. */
      why?: string;
    }
  /** `code`: the vendors' word for it, where clients act on one. */
  | { kind: 'not-found'; message: string; param?: string; code?: string }
  | { kind: 'method-not-allowed'; method: string; path: string; allowed: readonly string[] }
  | { kind: 'request-timeout'; message: string }
  /** `retryAfterMs`: wait after which the same request may pass. */
  | { kind: 'conflict'; message: string; retryAfterMs?: number }
  | { kind: 'body-too-large'; limitBytes: number }
  | { kind: 'unsupported-media-type'; received: string | null; expected: string }
  | { kind: 'unsupported-encoding'; message: string }
  /** `to`: the protocol that is served there; absent: HTTP/1.1. */
  | { kind: 'upgrade-required'; message: string; to?: 'websocket' }
  | { kind: 'headers-too-large' }
  | QuotaExceeded
  /** The upstream found fault with the caller's own request; its status and (scrubbed) message pass through. */
  | {
      kind: 'upstream-refused';
      status: number;
      message: string;
      provider: string;
      param: string | null;
      /** The upstream's own word for it, such as `context_length_exceeded`. */
      code?: string;
      /** The prompt does not fit: tokens that it had, and those that the model takes; null: unknown. */
      tooLong?: { sent: number | null; most: number | null };
      /** Further members of its answer, under the vendor's names, without secrets. */
      members?: JsonObject;
      /** Wait that it asks of the caller's own credential; null or absent: none. */
      retryAfterMs?: number | null;
    }
  | UpstreamsFailed
  /** Every provider that could answer says that it has had enough for now. `message` has their words. */
  | { kind: 'upstreams-limited'; model: string; retryAfterMs: number; message: string }
  | PageRefused
  /** An MCP server elsewhere could not do it. `message` holds its words where it has some. */
  | { kind: 'mcp-failed'; server: string; message: string }
  /** An agent refuses a message of A2A, or Culvert does in its place. `code`: of JSON-RPC, by which clients know why. */
  | { kind: 'agent-refused'; code: number; message: string }
  /** An agent could not do it. `message` holds its words where it has some. */
  | { kind: 'agent-failed'; agent: string; message: string }
  | { kind: 'no-target'; model: string; retryAfterMs: number; message: string }
  /** `cause` where reads that cost next to nothing may go on unbooked. */
  | { kind: 'quota-unavailable'; message: string; cause?: 'disk-full' }
  | { kind: 'overloaded'; message: string }
  /** The caller wants an answer that is kept, and there is none. */
  | { kind: 'not-cached'; message: string }
  /** A guard of the operator refuses the request or its answer. `message` names the guard, not what it found. */
  | { kind: 'guard-blocked'; guard: string; message: string }
  /** The service that a guard asks gave no answer in time. */
  | { kind: 'guard-unanswered'; guard: string; message: string }
  /** A rule of the operator refuses the request, with this status. `message` names the rule. */
  | { kind: 'rule-refused'; rule: string; status: number; message: string }
  | { kind: 'unsupported'; message: string }
  | { kind: 'internal' };

export interface InvalidRequest {
  kind: 'invalid-request';
  message: string;
  param: string | null;
  /** The vendors' word for it, where clients act on one. */
  code?: string;
  /** The body is a text that no parser of JSON reads. */
  isJson?: false;
}

export interface UpstreamsFailed {
  kind: 'upstreams-failed';
  model: string;
  attempts: readonly FailedAttempt[];
  /** The answer had begun, and broke off. */
  begun?: true;
  /** The provider's own error that broke it off: a 429 or 5xx, its word, and further members, without secrets. */
  reported?: { status?: number; code?: string; members?: JsonObject };
  /** Each attempt failed for something that the operator must mend, and no other target is left: no retry helps. */
  lasting?: readonly LastingCause[];
}

/** A fault that the operator must mend at a provider, which refuses the credential, account, model or place, or is not trusted. */
export interface LastingCause {
  provider: string;
  cause: 'credential' | 'quota' | 'model' | 'region' | 'certificate';
}

/** A page that a web tool was sent to and cannot give. */
export interface PageRefused {
  kind: 'page-refused';
  code: PageRefusal;
  /** Names no address that a name resolved to. */
  message: string;
  param: string | null;
  /** It kept a thread or the browser busy until it was killed: it is paid as a page that was given. */
  worked?: true;
}

/** A code for callers in addition to the HTTP status, written as `error.reason`. */
export type PageRefusal =
  | 'url_blocked'
  | 'page_timeout'
  | 'page_unreachable'
  | 'page_too_large'
  | 'page_broken'
  | 'page_unreadable'
  | 'page_redirects';

export const pageRefusalStatus = {
  url_blocked: 400,
  page_timeout: 408,
  page_unreachable: 502,
  page_too_large: 502,
  page_broken: 502,
  // The page came whole: a further request would give the same bytes.
  page_unreadable: 422,
  page_redirects: 502,
} as const satisfies Record<PageRefusal, number>;

/** One of the plan's limits is reached. Amounts are what the caller reads: units, calls, tokens or USD, decimals. */
export interface QuotaExceeded {
  kind: 'quota-exceeded';
  /** `5h|week|month|minute|concurrency|tier:<name>:<limit>|tokens:<window>|budget:<window>|storage` (in bytes) */
  limit: string;
  window: '5h' | 'week' | 'month' | null;
  used: number;
  allowed: number;
  /** Wall-clock ms of the first instant at which this very request would pass; null: it never will, or nobody knows. */
  freeAtMs: number | null;
  message: string;
  /** It is a limit of the key itself; absent: of its plan. */
  ofKey?: true;
  /** The answer's limit headers, instead of those that admission gave: flat name, value… */
  headers?: readonly string[];
}

export interface FailedAttempt {
  provider: string;
  /** Words without secrets, such as `timed out waiting for the first token after 30 s`. */
  reason: string;
}

export type FailureKind = Failure['kind'];

/** HTTP status by kind. `upstream-refused` carries its own, and `page-refused` has a table. */
export const failureStatus = {
  'invalid-request': 400,
  unauthenticated: 401,
  forbidden: 403,
  'model-unknown': 404,
  'model-not-in-plan': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  conflict: 409,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'unsupported-encoding': 415,
  'upgrade-required': 426,
  'headers-too-large': 431,
  'quota-exceeded': 429,
  'upstream-refused': 400,
  'upstreams-failed': 502,
  'upstreams-limited': 429,
  'page-refused': 502,
  'mcp-failed': 502,
  'agent-refused': 400,
  'agent-failed': 502,
  'no-target': 503,
  'quota-unavailable': 503,
  overloaded: 503,
  'not-cached': 504,
  'guard-blocked': 400,
  'guard-unanswered': 503,
  'rule-refused': 403,
  unsupported: 501,
  internal: 500,
} as const satisfies Record<FailureKind, number>;

const typeByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  501: 'unsupported_error',
  502: 'upstream_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
};

/** `error.type` of an answer with this status. */
export function errorTypeOf(status: number): string {
  return typeByStatus[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Further facts of an error answer. `nowMs` is wall-clock time. */
export interface ErrorContext {
  requestId: string;
  nowMs: number;
  /** `server.public_url`, with which the link to docs/errors.md begins. */
  publicUrl?: string | undefined;
  /** Id of the JSON-RPC message that it answers; absent: there is none. */
  rpcId?: string | number | undefined;
  /** Header of the caller: some clients lose an error in another form than their vendor's. */
  userAgent?: string | undefined;
}

/** `TaskNotFoundError` of A2A, the only one of its errors that is a 404. */
const taskNotFoundCode = -32_001;

/** HTTP status of the answer; `upstream-refused` passes the upstream's on, and so does an answer that it broke off. */
export function statusOf(failure: Failure): number {
  if (failure.kind === 'page-refused') return pageRefusalStatus[failure.code];
  if (failure.kind === 'upstreams-failed') return failure.reported?.status ?? failureStatus[failure.kind];
  if (failure.kind === 'agent-refused' && failure.code === taskNotFoundCode) return 404;
  const hasGivenStatus = failure.kind === 'upstream-refused' || failure.kind === 'rule-refused';
  return hasGivenStatus ? failure.status : failureStatus[failure.kind];
}

/** Error code by which clients recognise the refusal of a guard. */
export const guardBlockedCode = 'guard_blocked';

/** The provider's own word and further members, of errors that it made itself. */
export function reportedByProvider(failure: Failure): { code?: string; members?: JsonObject } {
  if (failure.kind === 'upstreams-failed') return failure.reported ?? {};
  if (failure.kind === 'guard-blocked') return { code: guardBlockedCode };
  return failure.kind === 'upstream-refused' ? failure : {};
}

/**
 * Tells a Failure from the result of a function that may refuse, which returns `T | Failure`. It knows one by its `kind`,
 * so it knows copies too that came from another thread. Not for a T whose members a caller names, such as a JSON body.
 */
export function isFailure(value: unknown): value is Failure {
  if (typeof value !== 'object' || value === null) return false;
  const { kind } = value as Partial<Failure>;
  // Most values have none, and end here. A number, since every object inherits members such as `toString`.
  return typeof kind === 'string' && typeof failureStatus[kind] === 'number';
}

/** Members that were read one by one, or the first failure among them. Not for members that a caller names. */
export function allRead<T extends object>(members: { [Name in keyof T]: T[Name] | Failure }): T | Failure {
  return Object.values(members).find(isFailure) ?? (members as T);
}

/**
 * Carries a Failure where none can be returned: through the rejected promise of a port, a stream, a callback of a library,
 * or out of the depth of a parser. Everything else returns `T | Failure`.
 */
export class FailureError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super('message' in failure ? `${failure.kind}: ${failure.message}` : failure.kind);
    this.name = 'FailureError';
    this.failure = failure;
  }

  /** For lines of the log: its sentence, where it has one. */
  override toString(): string {
    return 'message' in this.failure ? this.failure.message : this.message;
  }
}

/** The Failure that an error carries. Throws any other error on. */
export function failureIn(error: unknown): Failure {
  if (error instanceof FailureError) return error.failure;
  throw error;
}

/** Throws the Failure, out of the depth of what returns none. */
export function refuse(failure: Failure): never {
  throw new FailureError(failure);
}

/** A 400 for a field: `must` goes on from its name, as in `must be a number`. */
export function invalidField(param: string, must: string): InvalidRequest {
  return invalid(param, `'${param}' ${must}.`);
}

/** A 400; `param` is the field's path as the caller wrote it, null for the request as a whole. */
export function invalid(param: string | null, message: string): InvalidRequest {
  return { kind: 'invalid-request', param, message };
}

export function unauthenticated(message: string): { kind: 'unauthenticated'; message: string } {
  return { kind: 'unauthenticated', message };
}

export function forbidden(message: string): { kind: 'forbidden'; message: string } {
  return { kind: 'forbidden', message };
}

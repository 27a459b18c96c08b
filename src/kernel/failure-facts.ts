import {
  errorTypeOf,
  type Failure,
  type LastingCause,
  type QuotaExceeded,
  statusOf,
  type UpstreamsFailed,
} from './failure.ts';

/** The parts of an error answer that every dialect shares. */
export interface FailureFacts {
  /** HTTP status, also `error.code`. */
  status: number;
  type: string;
  message: string;
  param: string | null;
  /** Whether the same request may pass when it is sent again soon. */
  retryable: boolean;
  /** Ms until a retry makes sense; null when unknown or pointless. */
  retryAfterMs: number | null;
  /** Set for plan limits alone: further members of the error object. */
  quota: QuotaExceeded | null;
}

/** Facts of a failure for the caller. `nowMs` is wall-clock time, used for the wait of a reached limit. */
export function factsOf(failure: Failure, nowMs: number): FailureFacts {
  const status = statusOf(failure);
  return {
    status,
    type: errorTypeOf(status),
    message: messageOf(failure),
    param: 'param' in failure ? (failure.param ?? null) : failure.kind.startsWith('model-') ? 'model' : null,
    retryable: isRetryable(failure, status),
    retryAfterMs: retryAfterOf(failure, nowMs),
    quota: failure.kind === 'quota-exceeded' ? failure : null,
  };
}

function isRetryable(failure: Failure, status: number): boolean {
  if (failure.kind === 'upstreams-failed') return failure.lasting === undefined;
  if (failure.kind === 'rule-refused') return false;
  return status === 502 || status === 503 || (failure.kind === 'conflict' && failure.retryAfterMs !== undefined);
}

function retryAfterOf(failure: Failure, nowMs: number): number | null {
  switch (failure.kind) {
    case 'quota-exceeded':
      return failure.freeAtMs === null ? null : Math.max(0, failure.freeAtMs - nowMs);
    case 'no-target':
    case 'upstreams-limited':
      return failure.retryAfterMs;
    case 'upstreams-failed':
      return failure.lasting === undefined ? 1_000 : null;
    case 'quota-unavailable':
    case 'overloaded':
      return 1_000;
    case 'conflict':
    case 'upstream-refused':
      return failure.retryAfterMs ?? null;
    default:
      return null;
  }
}

/** Attempts that ended alike are one. */
function attemptsOf({ attempts }: UpstreamsFailed): string {
  return [...new Set(attempts.map(({ provider, reason }) => `${provider}: ${reason}`))].join('; ');
}

function messageOf(failure: Failure): string {
  switch (failure.kind) {
    case 'model-unknown':
      return `The model '${failure.model}' does not exist.${hint(failure.nearest)}${failure.why === undefined ? '' : ` ${failure.why}`} ${listModels(failure.allowedModels)}`;
    case 'model-not-in-plan':
      return `The model '${failure.model}' is not part of your plan or key.${hint(failure.nearest)} ${listModels(failure.allowedModels)}`;
    case 'method-not-allowed':
      return `${failure.method} is not allowed on ${failure.path}; use ${failure.allowed.join(' or ')}.`;
    case 'body-too-large':
      return `The request body is larger than ${failure.limitBytes} bytes.`;
    case 'unsupported-media-type':
      return `Content-Type ${failure.received === null ? 'is missing' : `'${failure.received}' is not supported`}; send ${failure.expected}.`;
    case 'headers-too-large':
      return 'The request has more than 16 KB of headers, or more than 1,000 of them.';
    case 'upstream-refused':
      return `${failure.provider}: ${failure.message}`;
    case 'upstreams-failed':
      return `${whatFailed(failure)} (${attemptsOf(failure) || 'no attempt could be made in time'}). ${whatHelps(failure)}`;
    case 'internal':
      return 'Something went wrong inside Culvert. The request id names it in the server log.';
    default:
      return failure.message;
  }
}

/** Beginning of the message. Continue recognises a broken stream by "premature end", and asks again. */
function whatFailed({ model, begun }: UpstreamsFailed): string {
  return begun === true
    ? `The answer of model '${model}' came to a premature end`
    : `All upstream providers failed for model '${model}'`;
}

function whatHelps({ lasting }: UpstreamsFailed): string {
  if (lasting === undefined) return 'This is transient: retry the request.';
  const causes = [...new Set(lasting.map(({ cause }) => cause))];
  const mends = causes.map((cause) => {
    const providers = [...new Set(lasting.filter((one) => one.cause === cause).map(({ provider }) => provider))];
    const [one, many] = mendOf[cause];
    return providers.length === 1 ? `${one} ${providers[0]}` : `${many} ${providers.join(', ')}`;
  });
  return `A retry does not help: the operator must ${mends.join(', and ')}.`;
}

/** Advice for the operator by cause, for one provider and for several. */
const mendOf: Readonly<Record<LastingCause['cause'], readonly [one: string, many: string]>> = {
  credential: ['change the credential of provider', 'change credentials of'],
  quota: ['raise the quota or the credit at provider', 'raise quotas or credits at'],
  // An address without its `/v1` is answered as a model is that does not exist.
  model: [
    'check the base_url, and name a model that this credential can use, at provider',
    'check each base_url, and name models that these credentials can use, at',
  ],
  region: ['use another region of provider', 'use other regions of'],
  certificate: [
    'have the certificate renewed or trusted (tls.ca) of provider',
    'have certificates renewed or trusted of',
  ],
};

const listedModelsMax = 50;

function listModels(models: readonly string[]): string {
  if (models.length === 0) return 'No model is available to this key. GET /v1/models lists those that are.';
  const more = models.length > listedModelsMax ? ` and ${models.length - listedModelsMax} more (GET /v1/models)` : '';
  return `Allowed models: ${models.slice(0, listedModelsMax).join(', ')}${more}.`;
}

function hint(nearest: string | null): string {
  return nearest === null ? '' : ` Did you mean '${nearest}'?`;
}

import type { Principal } from '../../auth/principal.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Admission, Settlement } from '../../metering/admission.ts';
import { chatEndpoint } from '../chat/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { embeddingsEndpoint } from '../embeddings/endpoint.ts';
import type { Services } from '../endpoints/services.ts';
import { forwardedEndpoint } from '../forwarded/endpoint.ts';
import { responsesEndpoint } from '../responses/endpoint.ts';
import type { Endpoint, Plan } from '../spine/endpoint.ts';
import { KeptAnswer, type Outcome } from '../spine/kept-answer.ts';
import { admittedBefore, type ModelCall } from '../spine/model-call.ts';
import type { RequestBody } from '../spine/request-body.ts';
import { serve } from '../spine/serve.ts';

/** One line of a batch as a request. */
export interface LineCall {
  requestId: string;
  keyId: string;
  /** A path that `takes` knows. */
  endpoint: string;
  body: Buffer;
  /** The caller's own, of which an allow-list reaches an upstream. */
  headers: Readonly<Record<string, string>>;
  /** The ledger tells of it already: it is asked, and not charged again. */
  isPaid: boolean;
}

/** `booked`: the ledger tells of it. */
export type LineOutcome = Outcome & { booked: boolean };

/** Lines of batches as the key's owner could send them, admitted, limited and charged as such. */
export interface LineCalls {
  /** Paths that a batch may be for. */
  readonly paths: readonly string[];
  /** How many this key may have running at one time. */
  atOnceMax(keyId: string): number;
  /** Null when it was left before its end. */
  run(line: LineCall, leaving: AbortSignal): Promise<LineOutcome | null>;
}

type Run = (services: Services, call: ModelCall, body: Buffer) => Promise<void>;

/** `principalOf`: as things are now, or why this key may not go on. */
export function createLineCalls(services: Services, principalOf: (keyId: string) => Principal | Failure): LineCalls {
  const { clock, admission } = services;
  const runs = runsOf(services);
  const paidAlready: Services = {
    ...services,
    admission: { ...admission, reserve: reserveNothing },
    settlement: noSettlement,
  };

  return {
    paths: [...runs.keys()],
    atOnceMax(keyId) {
      const principal = principalOf(keyId);
      const places = 'kind' in principal ? [] : services.plans().limits(principal, null).places;
      return Math.min(...places.map(({ allowed }) => allowed), Number.POSITIVE_INFINITY);
    },
    async run({ requestId, keyId, endpoint, body, headers, isPaid }, leaving) {
      const principal = principalOf(keyId);
      if ('kind' in principal) return refused(principal);
      const admitted = isPaid
        ? { ...admittedBefore }
        : await admission.admit(principal, 'one', { requestId, form: 'openai', isSparing: true });
      if (admitted.kind !== 'admitted') return refused(admitted);
      const client = new KeptAnswer();
      const leave = () => client.leave();
      leaving.addEventListener('abort', leave, { once: true });
      if (leaving.aborted) leave();
      const call: ModelCall = {
        requestId,
        clientRequestId: null,
        principal,
        admitted,
        ...{ delivery: client, client, sink: client },
        callerHeaders: headers,
        tag: null,
        wishes: { timeoutMs: null, fallback: 'allowed', session: null },
        idempotencyKey: null,
        trace: null,
        atMs: clock.wallMs(),
        startedMs: clock.monotonicMs(),
      };
      try {
        await runs.get(endpoint)!(isPaid ? paidAlready : services, call, body);
      } finally {
        admitted.release();
        leaving.removeEventListener('abort', leave);
      }
      return client.outcome === null ? null : { ...client.outcome, booked: admitted.booked === true };
    },
  };
}

function runsOf(services: Services): ReadonlyMap<string, Run> {
  const over =
    <R extends RequestBody, P extends Plan>(endpoint: Endpoint<Buffer, R, P>): Run =>
    (given, call, body) =>
      serve(given, endpoint, call, body);
  return new Map([
    ['/v1/chat/completions', over(chatEndpoint(services, 'chat', 'openai-chat'))],
    ['/v1/responses', over(responsesEndpoint(services))],
    ['/v1/embeddings', over(embeddingsEndpoint(services, 'embeddings'))],
    ['/v1/messages', over(chatEndpoint(services, 'messages', 'anthropic-messages'))],
    ...Object.values(forwardedEndpoints).map(({ id, path }) => [path, over(forwardedEndpoint(services, id))] as const),
  ]);
}

function refused(failure: Failure): LineOutcome {
  return { kind: 'refused', failure, headers: [], booked: false };
}

const reserveNothing: Admission['reserve'] = async ({ requestId, principal, atMs }) => ({
  kind: 'reserved',
  requestId,
  costMilli: 0,
  held: { kind: 'held', requestId, account: principal.account, scopes: [], costMilli: 0, quotaMs: atMs, states: [] },
  headers: [],
  state: 'open',
});

/** What was charged before stays so. */
const noSettlement: Settlement = { settle: () => null };

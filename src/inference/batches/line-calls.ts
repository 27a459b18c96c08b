import type { Principal } from '../../auth/principal.ts';
import type { Failure } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Admitted } from '../../metering/admission.ts';
import type { ExpectedUse } from '../../metering/batch-store.ts';
import { batchHoldEndpoint } from '../../metering/quota.ts';
import type { Services } from '../endpoints/services.ts';
import { KeptAnswer, type Outcome } from '../spine/kept-answer.ts';
import { admittedBefore, type ModelCall } from '../spine/model-call.ts';
import { lineEndpoints } from './line-endpoints.ts';
import { type GivenAnswer, givenAnswers } from './upstream/given-answer.ts';
import { noSettlement, type PreparedLine, prepareLine, reserveNothing } from './upstream/prepare-line.ts';

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
  /** What a provider's batch answered; null: it is asked now. */
  given: GivenAnswer | null;
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
  /** The line for a provider's batch API; null when none takes it. */
  prepare(line: Pick<LineCall, 'requestId' | 'keyId' | 'endpoint' | 'body' | 'headers'>): Promise<PreparedLine | null>;
  /** Holds what lines at a provider cost, until they are charged one by one; or says why they may not be sent. */
  hold(lines: LinesToHold): Promise<LinesHeld | Failure>;
}

export interface LinesToHold {
  keyId: string;
  alias: string;
  tier: string | null;
  costMilli: number;
  /** Null: they are at the provider already, whatever the limits say. */
  expected: ExpectedUse | null;
}

export interface LinesHeld {
  kind: 'held';
  /** Idempotent. */
  release(): void;
}

/** `principalOf`: as things are now, or why this key may not go on. */
export function createLineCalls(services: Services, principalOf: (keyId: string) => Principal | Failure): LineCalls {
  const { clock, admission, settlement } = services;
  const runs = lineEndpoints(services);
  const given = givenAnswers(services);
  const paidAlready: Services = {
    ...services,
    admission: { ...admission, reserve: reserveNothing },
    settlement: noSettlement,
  };

  function callOf(
    { requestId, headers }: Pick<LineCall, 'requestId' | 'headers'>,
    principal: Principal,
    admitted: Admitted,
    client: KeptAnswer,
  ): ModelCall {
    return {
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
  }

  return {
    paths: [...runs.keys()],
    atOnceMax(keyId) {
      const principal = principalOf(keyId);
      const places = 'kind' in principal ? [] : services.plans().limits(principal, null).places;
      return Math.min(...places.map(({ allowed }) => allowed), Number.POSITIVE_INFINITY);
    },
    async run(line, leaving) {
      const { requestId, keyId, endpoint, body, isPaid } = line;
      const principal = principalOf(keyId);
      if ('kind' in principal) return refused(principal);
      const admitted =
        isPaid || line.given !== null
          ? { ...admittedBefore, isOwed: true }
          : await admission.admit(principal, 'one', { requestId, form: 'openai', isSparing: true });
      if (admitted.kind !== 'admitted') return refused(admitted);
      // The result of a line that is paid for is kept whatever the plan says.
      const full = isPaid || line.given !== null ? null : await services.storage.mayKeep(principal.account);
      if (full !== null) {
        admitted.release();
        return refused(full);
      }
      const client = new KeptAnswer();
      const leave = () => client.leave();
      leaving.addEventListener('abort', leave, { once: true });
      if (leaving.aborted) leave();
      const run = line.given === null ? runs.get(endpoint)! : given(endpoint, line.given);
      try {
        await run(isPaid ? paidAlready : services, callOf(line, principal, admitted, client), body);
      } finally {
        admitted.release();
        leaving.removeEventListener('abort', leave);
      }
      return client.outcome === null ? null : { ...client.outcome, booked: admitted.booked === true };
    },
    async prepare(line) {
      const principal = principalOf(line.keyId);
      if ('kind' in principal) return null;
      return prepareLine(services, line.endpoint, line.body, (client) =>
        callOf(line, principal, { ...admittedBefore }, client),
      );
    },
    async hold({ keyId, alias, tier, costMilli, expected }) {
      const principal = principalOf(keyId);
      if ('kind' in principal) return principal;
      const atMs = clock.wallMs();
      const admitted: Admitted = { ...admittedBefore, ...(expected === null ? { isOwed: true } : { expected }) };
      const claim = {
        ...{ requestId: newRequestId(atMs), principal, admitted, endpoint: batchHoldEndpoint },
        ...{ alias, tier, costMilli, inputTokensEstimate: 0, atMs, trace: null },
      };
      const reserved = await admission.reserve(claim);
      if (reserved.kind !== 'reserved') return reserved;
      return {
        kind: 'held',
        release() {
          settlement.settle(reserved, {
            ...{ claim, clientRequestId: null, user: null, tag: null, target: null, price: null },
            ...{ status: 200, class: 'ok', stream: false, aborted: false, firstTokenMs: null },
            ms: clock.wallMs() - atMs,
            route: { alias, attempts: [] },
            // Each of its lines has a row of its own.
            delivery: 'nothing',
            ...{ usage: null, usageSource: 'none', besideUsd: 0 },
          });
        },
      };
    },
  };
}

function refused(failure: Failure): LineOutcome {
  return { kind: 'refused', failure, headers: [], booked: false };
}

import type { Principal } from '../../books/auth/principal.ts';
import type { Admitted } from '../../books/metering/admission.ts';
import type { ExpectedUse } from '../../books/metering/batch-store.ts';
import { batchHoldEndpoint } from '../../books/metering/settlement.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import type { Services } from '../endpoints/services.ts';
import type { Outcome } from '../spine/buffered-answer.ts';
import { insideCall } from '../spine/call.ts';
import { holdCall } from '../spine/held-call.ts';
import { admittedBefore } from '../spine/model-call.ts';
import { geminiPaths, lineEndpoints } from './line-endpoints.ts';
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
  /** The answer of a provider's batch; null: it is asked now. */
  given: GivenAnswer | null;
}

/** `booked`: the ledger tells of it. */
export type LineOutcome = Outcome & { booked: boolean };

/** Lines of batches as the key's owner could send them, admitted, limited and charged as such. */
export type LineCalls = ReturnType<typeof createLineCalls>;

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
export function createLineCalls(services: Services, principalOf: (keyId: string) => Principal | Failure) {
  const { admission } = services;
  const runs = lineEndpoints(services);
  const given = givenAnswers(services);
  const paidAlready: Services = {
    ...services,
    admission: { ...admission, reserve: reserveNothing },
    settlement: noSettlement,
  };

  return {
    /** Paths that a batch may be for. */
    paths: [...runs.keys()].filter((path) => !geminiPaths.includes(path)),
    /** How many this key may have running together. */
    atOnceMax(keyId: string): number {
      const principal = principalOf(keyId);
      const places = isFailure(principal) ? [] : services.plans().limits(principal, null).places;
      return Math.min(...places.map(({ allowed }) => allowed), Number.POSITIVE_INFINITY);
    },
    /** Null when it was left before its end. */
    async run(line: LineCall, leaving: AbortSignal): Promise<LineOutcome | null> {
      const { requestId, keyId, endpoint, body, isPaid } = line;
      const principal = principalOf(keyId);
      if (isFailure(principal)) return refused(principal);
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
      const run = line.given === null ? knownEntry(runs, endpoint) : given(endpoint, line.given);
      try {
        const owner = { principal, admitted, requestId, headers: line.headers };
        const outcome = await run(isPaid ? paidAlready : services, owner, body, { signal: leaving });
        return outcome === null ? null : { ...outcome, booked: admitted.booked === true };
      } finally {
        admitted.release();
      }
    },
    /** The line for a provider's batch API; null when none takes it. */
    async prepare(
      line: Pick<LineCall, 'requestId' | 'keyId' | 'endpoint' | 'body' | 'headers'>,
    ): Promise<PreparedLine | null> {
      const principal = principalOf(line.keyId);
      if (isFailure(principal)) return null;
      const { requestId, endpoint, body, headers } = line;
      return prepareLine(services, endpoint, body, { principal, requestId, headers });
    },
    /** Holds what lines at a provider cost, until they are charged one by one; or says why they may not be sent. */
    async hold({ keyId, alias, tier, costMilli, expected }: LinesToHold): Promise<LinesHeld | Failure> {
      const principal = withBudgetsOfModels(principalOf(keyId));
      if (isFailure(principal)) return principal;
      const admitted: Admitted = { ...admittedBefore, ...(expected === null ? { isOwed: true } : { expected }) };
      return holdCall(services, insideCall(services.clock, { principal, admitted }), {
        endpoint: batchHoldEndpoint,
        alias,
        tier,
        costMilli,
      });
    },
  };
}

/** Budgets of end users and tags are counted where lines are gathered. */
function withBudgetsOfModels(found: Principal | Failure): Principal | Failure {
  if (isFailure(found)) return found;
  const { budgets, ...principal } = found;
  const ofModels = budgets?.filter(({ by, model }) => by === 'model' || model !== undefined) ?? [];
  return ofModels.length === 0 ? principal : { ...principal, budgets: ofModels };
}

function refused(failure: Failure): LineOutcome {
  return { kind: 'refused', failure, headers: [], booked: false };
}

import { type Failure, FailureError } from '../kernel/failure.ts';
import type { Admission, Admitted, Claim, Reservation } from './admission.ts';
import type { Ledger } from './ledger.ts';

const noHeaders: readonly string[] = [];
/** One for all: it holds nothing, so there is nothing to give back. */
const admitted: Admitted = { kind: 'admitted', headers: noHeaders, calls: [], form: 'openai', release() {} };

/**
 * Grants everything and keeps the books. Fails closed: without a committed reservation nothing is dispatched
 * (`quota-unavailable`). `bootId` names this process, so that its reservations can be told from a dead one's.
 */
export function createUnlimitedAdmission(ledger: Pick<Ledger, 'open'>, bootId: string): Admission {
  return {
    admit: () => admitted,
    async reserve(claim: Claim): Promise<Reservation | Failure> {
      try {
        await ledger.open({
          requestId: claim.requestId,
          bootId,
          atMs: claim.atMs,
          account: claim.principal.account,
          keyId: claim.principal.keyId,
          tenant: claim.principal.tenant,
          endpoint: claim.endpoint,
          alias: claim.alias,
          tier: claim.tier,
          quotaMs: claim.atMs,
          costMilli: claim.costMilli,
          inputTokensEstimate: claim.inputTokensEstimate,
        });
      } catch (error) {
        if (error instanceof FailureError) return error.failure;
        throw error;
      }
      const { requestId, costMilli, principal, atMs } = claim;
      const { account } = principal;
      return {
        kind: 'reserved',
        requestId,
        costMilli,
        held: { kind: 'held', requestId, account, scopes: [], costMilli, quotaMs: atMs, states: [] },
        headers: noHeaders,
        state: 'open',
      };
    },
  };
}

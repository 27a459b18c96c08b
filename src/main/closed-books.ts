import type { AccountStore } from '../auth/account-store.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';
import type { Admission } from '../metering/admission.ts';

/** Why nothing may be kept right now, in words that end a sentence; null when it may. */
type Trouble = () => string | null;

function unavailable(trouble: string): Failure {
  return {
    kind: 'quota-unavailable',
    message: `This server cannot record anything: ${trouble}. Nothing was run and nothing is charged.`,
  };
}

/** Lets nothing in that counts while there is trouble; what is free keeps nothing. */
export function closableAdmission(admission: Admission, trouble: Trouble): Admission {
  return {
    admit(principal, weight, arrival) {
      const reason = weight === 'free' ? null : trouble();
      return reason === null ? admission.admit(principal, weight, arrival) : unavailable(reason);
    },
    reserve(claim) {
      const reason = trouble();
      return reason === null ? admission.reserve(claim) : unavailable(reason);
    },
  };
}

/** Accounts, keys and plans are read, and not changed while there is trouble. */
export function closableAccounts(store: AccountStore, trouble: Trouble): AccountStore {
  return {
    ...store,
    async apply(changes, audit) {
      const reason = trouble();
      if (reason !== null) throw new FailureError(unavailable(reason));
      return store.apply(changes, audit);
    },
  };
}

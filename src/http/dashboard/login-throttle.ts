import type { SharedTally, Tallied } from '../../books/metering/tally.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { clientNetwork } from '../../kernel/network.ts';
import { putNewest } from '../../kernel/put-newest.ts';

/** Failed logins of one address, and of all together, until a window is over. */
const windowMs = 60_000;
export const failuresMax = 10;
/** From many addresses at once: enough for a large office behind a new password manager, but too few to guess a key. */
export const failuresOfAllMax = 300;
/** Addresses that are remembered; beyond them the oldest is forgotten, while the bound of all together holds. */
const addressesMax = 10_000;

interface Failures {
  count: number;
  /** Monotonic ms. */
  endsMs: number;
}

/** A login that is being looked at. It counts as failed until it has passed, so that many at once are few. */
export interface LoginAttempt {
  failed(): void;
  passed(): void;
}

/** Keeps out for a while an address that failed to log in too often, at any replica. */
export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

const bounds = [failuresMax, failuresOfAllMax] as const;

/** Kinds of logins, which close no other: their name in the counts of all replicas, and their words. */
const tooMany = {
  logins: 'Too many logins failed.',
  'mcp-logins': 'Too many logins failed.',
  'admin-keys': 'Too many requests came with a key that does not open this. A right key goes on to work.',
} as const;

/** `tally`: what replicas have counted together; null: there is one process. */
export function createLoginThrottle(clock: Clock, tally: SharedTally | null, logins: keyof typeof tooMany) {
  const namesOf = (address: string | null) => [`${logins}:${clientNetwork(address)}`, logins];
  const byAddress = new Map<string, Failures>();
  let all: Failures = { count: 0, endsMs: 0 };

  /** Failures of an address and of all addresses. */
  function counted(address: string | null): Tallied[] {
    const nowMs = clock.monotonicMs();
    return [byAddress.get(clientNetwork(address)), all].map((failures) => {
      const { count, endsMs } = current(failures, nowMs);
      return { count, leftMs: endsMs - nowMs };
    });
  }

  /** Both counts with one more; they are given back to where they were taken. */
  function count(address: string | null): readonly Failures[] {
    const nowMs = clock.monotonicMs();
    all = current(all, nowMs);
    const key = clientNetwork(address);
    const ofAddress = current(byAddress.get(key), nowMs);
    putNewest(byAddress, key, ofAddress, addressesMax);
    const counts = [ofAddress, all];
    for (const one of counts) one.count += 1;
    return counts;
  }

  function refused(waitMs: number): Failure {
    return {
      kind: 'quota-exceeded',
      limit: 'logins',
      window: null,
      used: failuresMax,
      allowed: failuresMax,
      freeAtMs: clock.wallMs() + Math.ceil(waitMs),
      message: `${tooMany[logins]} Try again in ${Math.ceil(waitMs / 1_000)} s.`,
    };
  }

  async function shared(address: string | null): Promise<number> {
    return waitOf((await tally?.read(namesOf(address))) ?? []);
  }

  return {
    /** Null: they may try. `address` null is one address like any other. */
    async refusal(address: string | null): Promise<Failure | null> {
      const waitMs = waitOf(counted(address)) || (await shared(address));
      return waitMs === 0 ? null : refused(waitMs);
    },
    /**
     * Begins an attempt, or says why it is not looked at. Call it when nothing more has to come, and end what it gives.
     */
    async attempt(address: string | null): Promise<LoginAttempt | Failure> {
      const addressMs = waitOf(counted(address));
      if (addressMs > 0) return refused(addressMs);
      // Before anything is awaited: those that come meanwhile must see it.
      const counts = count(address);
      const passed = () => {
        for (const one of counts) one.count -= 1;
      };
      const sharedMs = tally === null ? 0 : await shared(address);
      if (sharedMs === 0) return { passed, failed: () => void tally?.add(namesOf(address), windowMs) };
      passed();
      return refused(sharedMs);
    },
  };
}

/** Counts an attempt that failed; resolves with `failure`, or with the refusal where they come too often. */
export async function countFailed({ attempt }: LoginThrottle, address: string | null, failure: Failure) {
  const begun = await attempt(address);
  if (!isFailure(begun)) begun.failed();
  return isFailure(begun) ? begun : failure;
}

function current(failures: Failures | undefined, nowMs: number): Failures {
  return failures !== undefined && failures.endsMs > nowMs ? failures : { count: 0, endsMs: nowMs + windowMs };
}

/** 0: nothing is in the way. */
function waitOf(counted: readonly Tallied[]): number {
  return Math.max(0, ...counted.map(({ count, leftMs }, at) => (count >= bounds[at]! ? leftMs : 0)));
}

import type { Clock } from '../../kernel/clock.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { SharedTally, Tallied } from '../../metering/tally.ts';

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

/** A client with one IPv6 address usually has the 2^64 of its network, too. */
function neighbourhood(address: string | null): string {
  if (address === null || !address.includes(':')) return address ?? '';
  const [head = '', tail] = address.toLowerCase().split('::');
  const first = head.split(':').filter((part) => part !== '');
  const rest = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - rest.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...rest];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/** Keeps out for a while an address that failed to log in too often, at any replica. */
export interface LoginThrottle {
  /** Null: they may try. `address` null is one address like any other. */
  refusal(address: string | null): Promise<Failure | null>;
  failed(address: string | null): void;
}

const bounds = [failuresMax, failuresOfAllMax] as const;

/**
 * `tally`: what replicas have counted together; null: there is one process. `logins`: the name of their count there, so
 * that failures of one kind of login close no other.
 */
export function createLoginThrottle(
  clock: Clock,
  tally: SharedTally | null,
  logins: 'logins' | 'mcp-logins',
): LoginThrottle {
  const namesOf = (address: string | null) => [`${logins}:${neighbourhood(address)}`, logins];
  const byAddress = new Map<string, Failures>();
  let all: Failures = { count: 0, endsMs: 0 };

  function current(failures: Failures | undefined, nowMs: number): Failures {
    return failures !== undefined && failures.endsMs > nowMs ? failures : { count: 0, endsMs: nowMs + windowMs };
  }

  /** Failures of an address and of all addresses. */
  function counted(address: string | null): Tallied[] {
    const nowMs = clock.monotonicMs();
    return [byAddress.get(neighbourhood(address)), all].map((failures) => {
      const { count, endsMs } = current(failures, nowMs);
      return { count, leftMs: endsMs - nowMs };
    });
  }

  return {
    async refusal(address) {
      const waitMs = waitOf(counted(address)) || waitOf((await tally?.read(namesOf(address))) ?? []);
      if (waitMs === 0) return null;
      return {
        kind: 'quota-exceeded',
        limit: 'logins',
        window: null,
        used: failuresMax,
        allowed: failuresMax,
        freeAtMs: clock.wallMs() + waitMs,
        message: `Too many logins failed. Try again in ${Math.ceil(waitMs / 1_000)} s.`,
      };
    },
    failed(address) {
      const nowMs = clock.monotonicMs();
      all = current(all, nowMs);
      all.count += 1;
      const key = neighbourhood(address);
      const own = current(byAddress.get(key), nowMs);
      own.count += 1;
      byAddress.delete(key);
      byAddress.set(key, own);
      if (byAddress.size > addressesMax) byAddress.delete(byAddress.keys().next().value!);
      void tally?.add(namesOf(address), windowMs);
    },
  };
}

/** 0: nothing is in the way. */
function waitOf(counted: readonly Tallied[]): number {
  return Math.max(0, ...counted.map(({ count, leftMs }, at) => (count >= bounds[at]! ? leftMs : 0)));
}

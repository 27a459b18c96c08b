import type { Failure } from '../../../kernel/failure.ts';
import type { Elsewhere } from '../../../kernel/sharing/elsewhere.ts';

/** Bytes on their way to a place that keeps them, held against the account's plan while they come. */
export interface StorageHold {
  /** Some more came. A failure when they are more than the account may keep; then they are not held. */
  grow(bytes: number): Failure | null;
  /** Holds for work whose bytes are known at its end: it begins if the account may keep anything more. */
  expect(bytes: number): Failure | null;
  /** Some of them are kept now, and counted there. */
  stored(bytes: number): void;
  /** Gives back what is still held. Idempotent. */
  release(): void;
}

/**
 * Bytes that are arriving for accounts, by all their holds together. `allowed`: bytes of the account's plan.
 * `elsewhere`: holds of other processes; null: there are none.
 */
export function createStorageHolds(allowed: (account: string) => number | null, elsewhere: Elsewhere | null) {
  const held = new Map<string, number>();
  const nameOf = (account: string) => `storage of ${account}`;
  const bytesOf = (account: string) => (held.get(account) ?? 0) + (elsewhere?.held(nameOf(account)) ?? 0);
  return {
    bytes: bytesOf,
    /** `full`: why so many bytes more than the account keeps are too many; null: they are not. */
    open(account: string, full: (onTheirWayBytes: number) => Failure | null): StorageHold {
      let heldBytes = 0;
      const move = (bytes: number) => {
        heldBytes += bytes;
        const all = (held.get(account) ?? 0) + bytes;
        if (all > 0) held.set(account, all);
        else held.delete(account);
        elsewhere?.report(nameOf(account), all, allowed(account) ?? Number.POSITIVE_INFINITY);
      };
      return {
        grow(bytes) {
          const failure = full(bytesOf(account) + bytes);
          if (failure === null) move(bytes);
          return failure;
        },
        expect(bytes) {
          const failure = full(bytesOf(account) + 1);
          if (failure === null) move(bytes);
          return failure;
        },
        stored: (bytes) => move(-Math.min(bytes, heldBytes)),
        release: () => move(-heldBytes),
      };
    },
  };
}

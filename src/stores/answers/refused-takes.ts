import type { ReplyTake } from '../../books/metering/reply-store.ts';
import { every } from '../../kernel/every.ts';
import type { SqlTables } from '../sql-tables.ts';

/** By then the database has ended a statement that it began. */
const giveBackEveryMs = 1_500;
/** A database that was silent does what waited for it in any order: the first time may come before the taking. */
const timesOf = 2;
/** Keys that wait to be given back, and those of one transaction. Further ones stay taken until they expire. */
const waitingMax = 10_000;
const atOnceMax = 100;

/**
 * Keys that may have been taken for requests that were refused. They are given back, however long the database is away:
 * otherwise a repeat would be refused as running until the key expires.
 */
export interface RefusedTakes {
  add(row: ReplyTake): void;
  stop(): void;
}

interface Waiting {
  values: readonly unknown[];
  times: number;
}

/** `release`: SQL of scope, key and request. */
export function createRefusedTakes(write: SqlTables['write'], release: { name: string; text: string }): RefusedTakes {
  /** `due` have waited for a turn; `fresh` came since. */
  let due: Waiting[] = [];
  let fresh: Waiting[] = [];
  let isWriting = false;
  let stopTurns: (() => void) | null = null;

  async function turn(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    try {
      while (due.length > 0) {
        const some = due.slice(0, atOnceMax);
        await write(some.map(({ values }) => ({ sql: release, values })));
        due = due.slice(some.length);
        for (const { values, times } of some) if (times < timesOf) fresh.push({ values, times: times + 1 });
      }
    } catch {
      // It is away: all of them wait for the next turn.
    } finally {
      isWriting = false;
    }
    due = due.concat(fresh);
    fresh = [];
    if (due.length === 0) stop();
  }

  function stop(): void {
    stopTurns?.();
    stopTurns = null;
  }

  return {
    add({ scope, key, requestId }) {
      if (due.length + fresh.length >= waitingMax) return;
      fresh.push({ values: [scope, key, requestId], times: 1 });
      stopTurns ??= every(giveBackEveryMs, () => void turn());
    },
    stop,
  };
}

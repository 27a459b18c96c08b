import type { Clock } from '../../kernel/clock.ts';
import type { Run } from './database.ts';

/** A statement that was sent before may still be running: the server ends it after 250 ms. */
export const leftoverSettleMs = 1_500;
/** The rest is charged at its estimate when this process ends. */
const leftoversMax = 100_000;
const batchRowsMax = 1_000;

/** Reservations in the table that nobody will close. Both lists are bounded. */
export interface Leftovers {
  /** It was refused, so it must not hold quota: it is removed. */
  unwanted(requestId: string): void;
  /** Its close could not be written: it is left to the next recovery, which charges the estimate. */
  disowned(requestId: string): void;
  /** Sees to those that came so long ago. */
  sweep(run: Run, olderThanMs: number): Promise<void>;
}

export function createLeftovers(clock: Clock): Leftovers {
  /** Request id → when it came, monotonic ms; in that order. */
  const unwanted = new Map<string, number>();
  const disowned = new Map<string, number>();

  function add(list: Map<string, number>, requestId: string): void {
    if (list.size < leftoversMax) list.set(requestId, clock.monotonicMs());
  }

  async function sweepList(list: Map<string, number>, run: Run, statement: string, olderThanMs: number): Promise<void> {
    const ids: string[] = [];
    for (const [id, sinceMs] of list) {
      if (clock.monotonicMs() - sinceMs < olderThanMs || ids.length === batchRowsMax) break;
      ids.push(id);
    }
    if (ids.length === 0) return;
    await run(statement, [ids]);
    for (const id of ids) list.delete(id);
  }

  return {
    unwanted: (requestId) => add(unwanted, requestId),
    disowned: (requestId) => add(disowned, requestId),
    async sweep(run, olderThanMs) {
      await sweepList(unwanted, run, 'DELETE FROM culvert.reservation WHERE request_id = ANY($1)', olderThanMs);
      // A boot that never was is over.
      await sweepList(
        disowned,
        run,
        `UPDATE culvert.reservation SET boot_id = '' WHERE request_id = ANY($1)`,
        olderThanMs,
      );
    },
  };
}

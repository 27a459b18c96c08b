import type { LoopClock, LoopInstant } from '../../kernel/loop-clock.ts';
import type { ReservationRow } from '../../metering/ledger.ts';
import { notRecorded, openTimeoutMs, queuedOpensMax } from '../ledger-waits.ts';
import { isRowsFault } from './database.ts';
import { reasonOf } from './unavailable.ts';

const batchRowsMax = 500;
const firstRetryMs = 25;
/** While PostgreSQL is away it is asked again this often at least, so that service is back a second after it. */
const retryMaxMs = 1_000;

export interface OpenQueue {
  open(row: ReservationRow): Promise<void>;
  /** Refuses everything from now on. */
  refuse(reason: string): void;
  /** Resolves when nothing waits and nothing is on its way. */
  drain(): Promise<void>;
  queued(): number;
}

export interface OpenObserver {
  onOpened(requestId: string): void;
  /** Refused, and nobody knows whether it is in the table: it must not stay there. */
  onUnwanted(requestId: string): void;
  /** What the last statement met; null when it passed. */
  onOutcome(error: unknown): void;
}

interface Waiting {
  row: ReservationRow;
  /** `sent`: on its way. `answered`: nobody waits for it any more, at most its statement is still on its way. */
  state: 'queued' | 'sent' | 'answered';
  /** A statement with it has been sent whose outcome is unknown. */
  maybeWritten: boolean;
  since: LoopInstant;
  deadline: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Group commit: what came in while `lanesMax` statements were on their way is the next one. `write` writes all of its
 * rows or none, and again changes nothing.
 */
export function createOpenQueue(
  write: (rows: readonly ReservationRow[]) => Promise<void>,
  lanesMax: number,
  loop: Pick<LoopClock, 'now' | 'leftMs'>,
  observer: OpenObserver,
): OpenQueue {
  let queue: Waiting[] = [];
  /** Answered ones still stand in the queue until a batch passes over them. */
  let waiting = 0;
  let lanes = 0;
  let scheduled = false;
  let retryMs = 0;
  let fault = 'PostgreSQL does not answer';
  let refusal: string | null = null;
  let drained: (() => void)[] = [];

  /** After the turn of the loop in which it came: those that came in it go together. */
  function schedule(): void {
    if (scheduled || lanes >= lanesMax) return;
    scheduled = true;
    if (retryMs === 0) setImmediate(pump);
    else setTimeout(pump, retryMs);
  }

  function pump(): void {
    scheduled = false;
    while (lanes < lanesMax) {
      const batch = takeBatch();
      if (batch.length === 0) break;
      lanes += 1;
      void send(batch).finally(() => {
        lanes -= 1;
        if (queue.length > 0) schedule();
        else if (lanes === 0) settleDrain();
      });
      // One probe at a time while it is away.
      if (retryMs > 0) break;
    }
    if (queue.length === 0 && lanes === 0) settleDrain();
  }

  function takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let at = 0;
    for (; at < queue.length && batch.length < batchRowsMax; at += 1) {
      const one = queue[at]!;
      if (one.state === 'answered') continue;
      one.state = 'sent';
      batch.push(one);
    }
    queue = at === queue.length ? [] : queue.slice(at);
    return batch;
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    try {
      await write(batch.map((one) => one.row));
    } catch (error) {
      if (isRowsFault(error)) await oneByOne(batch, error);
      else putBack(batch, error);
      return;
    }
    retryMs = 0;
    observer.onOutcome(null);
    for (const one of batch) opened(one);
  }

  /** One row cannot be written at all: it must not take the others with it. */
  async function oneByOne(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const one of batch) await send([one]);
      return;
    }
    for (const one of batch) settle(one, error instanceof Error ? error : new Error(String(error)));
  }

  function putBack(batch: readonly Waiting[], error: unknown): void {
    fault = reasonOf(error);
    observer.onOutcome(error);
    retryMs = Math.min(retryMaxMs, Math.max(firstRetryMs, retryMs * 2));
    for (const one of batch) {
      one.maybeWritten = true;
      if (one.state === 'answered') observer.onUnwanted(one.row.requestId);
      else one.state = 'queued';
    }
    queue = batch.filter((one) => one.state === 'queued').concat(queue);
  }

  function opened(one: Waiting): void {
    // Too late to be acted on, though no timer could say so.
    if (one.state !== 'answered' && loop.leftMs(one.since, openTimeoutMs) < 0) settle(one, notRecorded(fault));
    if (one.state === 'answered') {
      observer.onUnwanted(one.row.requestId);
      return;
    }
    observer.onOpened(one.row.requestId);
    settle(one, null);
  }

  function settle(one: Waiting, error: Error | null): void {
    if (one.state === 'answered') return;
    one.state = 'answered';
    waiting -= 1;
    clearTimeout(one.deadline);
    if (error === null) one.resolve();
    else one.reject(error);
  }

  function look(one: Waiting): void {
    const leftMs = loop.leftMs(one.since, openTimeoutMs);
    // What our own loop took is not the database's: its answer may be there, and is read next.
    if (leftMs > 0) one.deadline = setTimeout(() => look(one), leftMs);
    else tooLate(one);
  }

  function tooLate(one: Waiting): void {
    // On its way: `send` finds it answered and sees to it.
    if (one.state === 'queued' && one.maybeWritten) observer.onUnwanted(one.row.requestId);
    settle(one, notRecorded(fault));
  }

  function settleDrain(): void {
    const waiters = drained;
    drained = [];
    for (const resolve of waiters) resolve();
  }

  return {
    open(row) {
      if (refusal !== null) return Promise.reject(notRecorded(refusal));
      if (waiting >= queuedOpensMax) return Promise.reject(notRecorded('too many requests wait'));
      return new Promise((resolve, reject) => {
        const one: Waiting = {
          row,
          state: 'queued',
          maybeWritten: false,
          since: loop.now(),
          deadline: setTimeout(() => look(one), openTimeoutMs),
          resolve,
          reject,
        };
        waiting += 1;
        queue.push(one);
        schedule();
      });
    },
    refuse(reason) {
      refusal = reason;
    },
    drain() {
      if (queue.length === 0 && lanes === 0) return Promise.resolve();
      schedule();
      return new Promise((resolve) => drained.push(resolve));
    },
    queued: () => waiting,
  };
}

import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { LoopInstant } from '../../kernel/loop-clock.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { closeBatchRows, closeDelayMs, closeRetryMs, notRecorded, queuedOpensMax } from '../ledger/ledger-waits.ts';
import { answerMaxMs, type Patience, slowAfterMs } from '../patience.ts';
import { isRowsFault, reasonOf } from './database.ts';

const batchRowsMax = 500;
/** While PostgreSQL is away it is asked at least this often: the first who come when it is back find that it is. */
const openRetries = { firstMs: 25, maxMs: 100 };
const closeRetries = { firstMs: 50, maxMs: 1_000 };

export interface OpenObserver {
  onOpened(requestId: string): void;
  /** A reservation was refused whose row may have been written: the row must be removed. */
  onUnwanted(requestId: string): void;
  /** The error of the last statement; null when it passed. */
  onOutcome(error: unknown): void;
  /** Called when a request has waited for long. */
  onSlow(): void;
}

interface WaitingOpen {
  row: ReservationRow;
  /** `sent`: on its way. `answered`: nobody waits for it any more; at most its statement is still on its way. */
  state: 'queued' | 'sent' | 'answered';
  /** A statement with it has been sent whose outcome is unknown. */
  maybeWritten: boolean;
  since: LoopInstant;
  maxMs: number;
  deadline: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

/** Reason of a refusal while no error of PostgreSQL is known. */
const silent = 'PostgreSQL does not answer';

/**
 * Group commit: rows that came while `lanesMax` statements were on their way make the next one. `write` writes all of
 * its rows or none, and a repeat changes nothing.
 */
export class OpenQueue {
  readonly #write: (rows: readonly ReservationRow[]) => Promise<void>;
  readonly #lanesMax: number;
  readonly #patience: Pick<Patience, 'now' | 'leftMs'>;
  readonly #observer: OpenObserver;
  #queue: WaitingOpen[] = [];
  /** Entries that nobody has answered. Answered ones stay in the queue until a batch passes over them. */
  #waiting = 0;
  #lanes = 0;
  #scheduled = false;
  /** Statements that failed in a row. */
  #failures = 0;
  #fault = silent;
  #refusal: string | null = null;
  #drained: (() => void)[] = [];

  constructor(
    write: (rows: readonly ReservationRow[]) => Promise<void>,
    lanesMax: number,
    patience: Pick<Patience, 'now' | 'leftMs'>,
    observer: OpenObserver,
  ) {
    this.#write = write;
    this.#lanesMax = lanesMax;
    this.#patience = patience;
    this.#observer = observer;
  }

  /** Resolves when the reservation is in the ledger. Rejects when it is not, or nobody can tell by `byMs` (monotonic). */
  open(row: ReservationRow, byMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (this.#refusal !== null) return Promise.reject(notRecorded(this.#refusal));
    if (this.#waiting >= queuedOpensMax) return Promise.reject(notRecorded('too many requests wait'));
    const since = this.#patience.now();
    return new Promise((resolve, reject) => {
      const one: WaitingOpen = {
        row,
        state: 'queued',
        maybeWritten: false,
        since,
        maxMs: Math.min(answerMaxMs, byMs - since.atMs),
        deadline: setTimeout(() => this.#look(one), slowAfterMs),
        resolve,
        reject,
      };
      this.#waiting += 1;
      this.#queue.push(one);
      this.#schedule();
    });
  }

  /** Refuses everything from now on. */
  refuse(reason: string): void {
    this.#refusal = reason;
  }

  /** Resolves when nothing waits and nothing is on its way. */
  drain(): Promise<void> {
    if (this.#queue.length === 0 && this.#lanes === 0) return Promise.resolve();
    this.#schedule();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  queued(): number {
    return this.#waiting;
  }

  /** Sends at the end of this turn of the loop, so that rows of one turn go together. */
  #schedule(): void {
    if (this.#scheduled || this.#lanes >= this.#lanesMax) return;
    this.#scheduled = true;
    if (this.#failures === 0) setImmediate(this.#pump);
    else setTimeout(this.#pump, backoffMs(this.#failures, openRetries));
  }

  readonly #pump = (): void => {
    this.#scheduled = false;
    while (this.#lanes < this.#lanesMax) {
      const batch = this.#takeBatch();
      if (batch.length === 0) break;
      this.#lanes += 1;
      void this.#send(batch).finally(() => {
        this.#lanes -= 1;
        if (this.#queue.length > 0) this.#schedule();
        else if (this.#lanes === 0) this.#settleDrain();
      });
      // One probe at a time while it is away.
      if (this.#failures > 0) break;
    }
    if (this.#queue.length === 0 && this.#lanes === 0) this.#settleDrain();
  };

  #takeBatch(): WaitingOpen[] {
    const batch: WaitingOpen[] = [];
    let at = 0;
    for (const one of this.#queue) {
      if (batch.length === batchRowsMax) break;
      at += 1;
      if (one.state === 'answered') continue;
      one.state = 'sent';
      batch.push(one);
    }
    this.#queue = at === this.#queue.length ? [] : this.#queue.slice(at);
    return batch;
  }

  async #send(batch: readonly WaitingOpen[]): Promise<void> {
    try {
      await this.#write(batch.map((one) => one.row));
    } catch (error) {
      if (isRowsFault(error)) await this.#oneByOne(batch, error);
      else this.#putBack(batch, error);
      return;
    }
    this.#failures = 0;
    this.#observer.onOutcome(null);
    for (const one of batch) this.#opened(one);
    this.#fault = silent;
  }

  /** One row cannot be written at all: it must not take the others with it. */
  async #oneByOne(batch: readonly WaitingOpen[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const one of batch) await this.#send([one]);
      return;
    }
    for (const one of batch) this.#settle(one, error instanceof Error ? error : new Error(String(error)));
  }

  #putBack(batch: readonly WaitingOpen[], error: unknown): void {
    this.#fault = reasonOf(error);
    this.#observer.onOutcome(error);
    this.#failures += 1;
    for (const one of batch) {
      one.maybeWritten = true;
      if (one.state === 'answered') this.#observer.onUnwanted(one.row.requestId);
      else one.state = 'queued';
    }
    this.#queue = batch.filter((one) => one.state === 'queued').concat(this.#queue);
  }

  #opened(one: WaitingOpen): void {
    // Too late to be acted on, though no timer could say so.
    if (one.state !== 'answered' && this.#patience.leftMs(one.since, one.maxMs) < 0)
      this.#settle(one, notRecorded(this.#fault));
    if (one.state === 'answered') {
      this.#observer.onUnwanted(one.row.requestId);
      return;
    }
    this.#observer.onOpened(one.row.requestId);
    this.#settle(one, null);
  }

  #settle(one: WaitingOpen, error: Error | null): void {
    if (one.state === 'answered') return;
    one.state = 'answered';
    this.#waiting -= 1;
    clearTimeout(one.deadline);
    if (error === null) one.resolve();
    else one.reject(error);
  }

  #look(one: WaitingOpen): void {
    const leftMs = this.#patience.leftMs(one.since, one.maxMs);
    if (leftMs <= 0) return this.#tooLate(one);
    this.#observer.onSlow();
    // What our own loop took is not the database's: its answer may be there, and is read next.
    one.deadline = setTimeout(() => this.#look(one), Math.min(leftMs, slowAfterMs));
  }

  #tooLate(one: WaitingOpen): void {
    // On its way: `send` finds it answered and sees to it.
    if (one.state === 'queued' && one.maybeWritten) this.#observer.onUnwanted(one.row.requestId);
    this.#settle(one, notRecorded(this.#fault));
  }

  #settleDrain(): void {
    const waiters = this.#drained;
    this.#drained = [];
    for (const resolve of waiters) resolve();
  }
}

export interface CloseObserver {
  onOutcome(error: unknown): void;
  /** Closes that will not be written, and why. */
  onDropped(events: readonly UsageEvent[], reason: string): void;
}

interface WaitingClose {
  event: UsageEvent;
  sinceMs: number;
}

type WriteEvents = (events: readonly UsageEvent[]) => Promise<void>;

/**
 * Bounded by the caller: every close here was a reservation that the caller admitted. One batch at a time, in order.
 * `write` writes all of its events or none, and a repeat changes nothing.
 */
export function createCloseQueue(write: WriteEvents, clock: Clock, observer: CloseObserver) {
  let queue: WaitingClose[] = [];
  let running = false;
  let stopped = false;
  let timer: NodeJS.Timeout | null = null;
  let failures = 0;
  /** How many ever came, and how many of these, the oldest, are done with. */
  let came = 0;
  let done = 0;
  let flushes: { upTo: number; resolve(): void }[] = [];

  function kick(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (running || queue.length === 0) return;
    running = true;
    void writeBatch().finally(() => {
      running = false;
      if (stopped) giveUp(queue.length, 'Culvert is shutting down');
      else if (queue.length >= closeBatchRows && failures === 0) kick();
      else if (queue.length > 0)
        wait(failures === 0 && flushes.length > 0 ? 0 : Math.max(closeDelayMs, backoffMs(failures, closeRetries)));
    });
  }

  function wait(ms: number): void {
    timer ??= setTimeout(kick, ms);
  }

  async function writeBatch(): Promise<void> {
    const batch = queue.slice(0, batchRowsMax);
    const { written, error } = await writtenOf(batch, write, observer);
    queue = queue.slice(written);
    finish(written);
    if (error === null) {
      failures = 0;
      observer.onOutcome(null);
      return;
    }
    observer.onOutcome(error);
    failures += 1;
    expire(reasonOf(error));
  }

  function expire(reason: string): void {
    const nowMs = clock.monotonicMs();
    const inTime = queue.findIndex(({ sinceMs }) => nowMs - sinceMs < closeRetryMs);
    giveUp(inTime < 0 ? queue.length : inTime, reason);
  }

  function giveUp(count: number, reason: string): void {
    if (count === 0) return;
    observer.onDropped(
      queue.slice(0, count).map((one) => one.event),
      reason,
    );
    queue = queue.slice(count);
    finish(count);
  }

  function finish(count: number): void {
    done += count;
    const over = flushes.filter((one) => one.upTo <= done);
    if (over.length === 0) return;
    flushes = flushes.filter((one) => one.upTo > done);
    for (const one of over) one.resolve();
  }

  return {
    close(event: UsageEvent): void {
      came += 1;
      queue.push({ event, sinceMs: clock.monotonicMs() });
      if (queue.length >= closeBatchRows && failures === 0) kick();
      else wait(Math.max(closeDelayMs, backoffMs(failures, closeRetries)));
    },
    /** Writes waiting closes at once. Resolves when all are written or given up, or after `waitMaxMs`. */
    async flush(waitMaxMs: number): Promise<void> {
      if (done === came) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      flushes.push({ upTo: came, resolve });
      if (failures === 0) kick();
      await withinMs(waitMaxMs, promise, null);
    },
    queued: (): number => queue.length,
    /** Gives up the rest. */
    stop(): void {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      // A batch on its way may still arrive; it reports itself.
      if (!running) giveUp(queue.length, 'Culvert is shutting down');
    },
  };
}

/** How many of the batch, from its beginning, are written or given up. */
async function writtenOf(
  batch: readonly WaitingClose[],
  write: WriteEvents,
  observer: CloseObserver,
): Promise<{ written: number; error: unknown }> {
  try {
    await write(batch.map(({ event }) => event));
    return { written: batch.length, error: null };
  } catch (error) {
    if (!isRowsFault(error)) return { written: 0, error };
    const [only, second] = batch;
    if (only !== undefined && second === undefined) {
      observer.onDropped([only.event], reasonOf(error));
      return { written: 1, error: null };
    }
  }
  // One event cannot be written at all: it must not take the others with it.
  for (const [at, one] of batch.entries()) {
    const { error } = await writtenOf([one], write, observer);
    if (error !== null) return { written: at, error };
  }
  return { written: batch.length, error: null };
}

import type { LoopClock, LoopInstant } from '../../kernel/loop-clock.ts';
import type { ReservationRow } from '../../metering/ledger.ts';
import { notRecorded, openTimeoutMs, queuedOpensMax } from '../ledger-waits.ts';
import { isRowsFault } from './database.ts';
import { reasonOf } from './unavailable.ts';

const batchRowsMax = 500;
const firstRetryMs = 25;
/** While PostgreSQL is away it is asked at least this often, so that service is back a second after it. */
const retryMaxMs = 1_000;

export interface OpenObserver {
  onOpened(requestId: string): void;
  /** Refused, but perhaps in the table: it must not stay there. */
  onUnwanted(requestId: string): void;
  /** The error of the last statement; null when it passed. */
  onOutcome(error: unknown): void;
}

interface Waiting {
  row: ReservationRow;
  /** `sent`: on its way. `answered`: nobody waits for it any more; at most its statement is still on its way. */
  state: 'queued' | 'sent' | 'answered';
  /** A statement with it has been sent whose outcome is unknown. */
  maybeWritten: boolean;
  since: LoopInstant;
  deadline: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Group commit: rows that came while `lanesMax` statements were on their way make the next one. `write` writes all of
 * its rows or none, and a repeat changes nothing.
 */
export class OpenQueue {
  readonly #write: (rows: readonly ReservationRow[]) => Promise<void>;
  readonly #lanesMax: number;
  readonly #loop: Pick<LoopClock, 'now' | 'leftMs'>;
  readonly #observer: OpenObserver;
  #queue: Waiting[] = [];
  /** Answered ones still stand in the queue until a batch passes over them. */
  #waiting = 0;
  #lanes = 0;
  #scheduled = false;
  #retryMs = 0;
  #fault = 'PostgreSQL does not answer';
  #refusal: string | null = null;
  #drained: (() => void)[] = [];

  constructor(
    write: (rows: readonly ReservationRow[]) => Promise<void>,
    lanesMax: number,
    loop: Pick<LoopClock, 'now' | 'leftMs'>,
    observer: OpenObserver,
  ) {
    this.#write = write;
    this.#lanesMax = lanesMax;
    this.#loop = loop;
    this.#observer = observer;
  }

  /** Resolves when the reservation is in the ledger. Rejects when it is not, or nobody can tell in time. */
  open(row: ReservationRow): Promise<void> {
    if (this.#refusal !== null) return Promise.reject(notRecorded(this.#refusal));
    if (this.#waiting >= queuedOpensMax) return Promise.reject(notRecorded('too many requests wait'));
    return new Promise((resolve, reject) => {
      const one: Waiting = {
        row,
        state: 'queued',
        maybeWritten: false,
        since: this.#loop.now(),
        deadline: setTimeout(() => this.#look(one), openTimeoutMs),
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

  /** After the turn of the loop in which it came: those that came in it go together. */
  #schedule(): void {
    if (this.#scheduled || this.#lanes >= this.#lanesMax) return;
    this.#scheduled = true;
    if (this.#retryMs === 0) setImmediate(this.#pump);
    else setTimeout(this.#pump, this.#retryMs);
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
      if (this.#retryMs > 0) break;
    }
    if (this.#queue.length === 0 && this.#lanes === 0) this.#settleDrain();
  };

  #takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let at = 0;
    for (; at < this.#queue.length && batch.length < batchRowsMax; at += 1) {
      const one = this.#queue[at]!;
      if (one.state === 'answered') continue;
      one.state = 'sent';
      batch.push(one);
    }
    this.#queue = at === this.#queue.length ? [] : this.#queue.slice(at);
    return batch;
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#write(batch.map((one) => one.row));
    } catch (error) {
      if (isRowsFault(error)) await this.#oneByOne(batch, error);
      else this.#putBack(batch, error);
      return;
    }
    this.#retryMs = 0;
    this.#observer.onOutcome(null);
    for (const one of batch) this.#opened(one);
  }

  /** One row cannot be written at all: it must not take the others with it. */
  async #oneByOne(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const one of batch) await this.#send([one]);
      return;
    }
    for (const one of batch) this.#settle(one, error instanceof Error ? error : new Error(String(error)));
  }

  #putBack(batch: readonly Waiting[], error: unknown): void {
    this.#fault = reasonOf(error);
    this.#observer.onOutcome(error);
    this.#retryMs = Math.min(retryMaxMs, Math.max(firstRetryMs, this.#retryMs * 2));
    for (const one of batch) {
      one.maybeWritten = true;
      if (one.state === 'answered') this.#observer.onUnwanted(one.row.requestId);
      else one.state = 'queued';
    }
    this.#queue = batch.filter((one) => one.state === 'queued').concat(this.#queue);
  }

  #opened(one: Waiting): void {
    // Too late to be acted on, though no timer could say so.
    if (one.state !== 'answered' && this.#loop.leftMs(one.since, openTimeoutMs) < 0)
      this.#settle(one, notRecorded(this.#fault));
    if (one.state === 'answered') {
      this.#observer.onUnwanted(one.row.requestId);
      return;
    }
    this.#observer.onOpened(one.row.requestId);
    this.#settle(one, null);
  }

  #settle(one: Waiting, error: Error | null): void {
    if (one.state === 'answered') return;
    one.state = 'answered';
    this.#waiting -= 1;
    clearTimeout(one.deadline);
    if (error === null) one.resolve();
    else one.reject(error);
  }

  #look(one: Waiting): void {
    const leftMs = this.#loop.leftMs(one.since, openTimeoutMs);
    // What our own loop took is not the database's: its answer may be there, and is read next.
    if (leftMs > 0) one.deadline = setTimeout(() => this.#look(one), leftMs);
    else this.#tooLate(one);
  }

  #tooLate(one: Waiting): void {
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

import type { ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import {
  closeBatchRows,
  closeDelayMs,
  closeRetryMs,
  notRecorded,
  openTimeoutMs,
  queuedOpensMax,
  stopRetryMs,
} from '../ledger/ledger-waits.ts';
import type { RecentCalls } from '../ledger/recent-calls.ts';
import { messageOf } from '../trouble-report.ts';
import {
  checkpointWaitMs,
  isPassing,
  sqliteBusy,
  sqliteCode,
  sqliteCorrupt,
  sqliteFull,
  sqliteLocked,
  sqliteNotADatabase,
} from './database.ts';
import type { LedgerWriter } from './ledger-writer.ts';

/** Beyond these, opens are refused and closes given up: memory stays bounded while the disk is away. */
const reservedMax = 200_000;
const queuedClosesMax = 100_000;
/** Records of refused requests that wait; beyond these they are not kept. */
const queuedNotesMax = 1_000;
/** Rows in one commit: about 3 ms of the loop. */
const batchRowsMax = 500;
/**
 * A commit costs 11 µs whatever it holds, so fewer opens than these wait for others, up to three turns of the loop
 * (measured at c=10: 118-127 µs of CPU a request without, 7 less with two turns, 15-20 with three). When no other
 * request runs, nothing waits: at 500 requests a second the turns would be 0.05 ms of latency for nothing.
 */
const openBatchRows = 8;
const gatherTurns = 3;
/** Another connection writes, mostly the checkpoint's last step: it is over in a moment. */
const busyRetryMs = 2;
/** The disk is full or failing. */
const faultRetryMs = 50;

export interface QueueObserver {
  onCommitted(): void;
  /** Whether a thread of ours may hold the lock. It lets go soon, so reservations wait longer. Absent: none does. */
  isCheckpointing?(): boolean;
  /** A close that will not be written, and why. */
  onDropped(event: UsageEvent, reason: string): void;
}

interface WaitingOpen {
  row: ReservationRow;
  sinceMs: number;
  /** Monotonic ms until which it may be committed at most. */
  byMs: number;
  key: number;
  done: PromiseWithResolvers<void>;
}

interface WaitingClose {
  event: UsageEvent;
  sinceMs: number;
  /** Id of its reservation; null for the record of a refused request, which never had one. */
  key: number | null;
}

interface Batch {
  opens: WaitingOpen[];
  closes: WaitingClose[];
}

const noCloses: WaitingClose[] = [];

/**
 * Group commit without a thread: writes of one turn of the loop, or of three, are one transaction at its end. After a
 * failed commit everything stays queued and is tried again. Only the commit itself blocks the loop.
 */
export class LedgerQueue {
  /** For the requests that are in the ledger. */
  readonly calls: RecentCalls;
  readonly #writer: LedgerWriter;
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  #opens: WaitingOpen[] = [];
  #closes: WaitingClose[] = [];
  /** Committed reservations of this process, by request id: what `close` may close, once. */
  readonly #reserved = new BriefMap<number>();
  /** Enough closes wait, or the oldest has waited long enough. */
  #closesDue = false;
  #closeTimer: NodeJS.Timeout | null = null;
  #beat: { bootId: string; nowMs: number } | null = null;
  #scheduled = false;
  /** Turns of the loop since it was scheduled. */
  #gathered = 0;
  #retrying = false;
  #refusal: string | null = null;
  #refusedForGood = false;
  /** The disk's error at the last commit. The next one may pass; a heartbeat makes the next at the latest. */
  #diskFault: string | null = null;
  #dropped = 0;
  #drained: (() => void)[] = [];
  /** Monotonic ms at which closes are given up, whatever their age. */
  #giveUpMs = Number.POSITIVE_INFINITY;

  constructor(writer: LedgerWriter, clock: Clock, calls: RecentCalls, observer: QueueObserver) {
    this.#writer = writer;
    this.#clock = clock;
    this.calls = calls;
    this.#observer = observer;
  }

  /** See the port's `open`. */
  readonly open = (row: ReservationRow, byMs = Number.POSITIVE_INFINITY): Promise<void> => {
    if (this.#refusal !== null) return Promise.reject(notRecorded(this.#refusal));
    if (this.#opens.length >= queuedOpensMax || this.#reserved.size >= reservedMax)
      return Promise.reject(notRecorded('too many requests are open'));
    const done = Promise.withResolvers<void>();
    this.#opens.push({ row, sinceMs: this.#clock.monotonicMs(), byMs, key: 0, done });
    this.#schedule();
    return done.promise;
  };

  /** See the port's `note`. */
  note(refused: UsageEvent): void {
    if (this.#closes.length >= queuedNotesMax) return;
    this.#enqueue({ event: refused, sinceMs: this.#clock.monotonicMs(), key: null });
  }

  /** See the port's `close`. */
  readonly close = (event: UsageEvent): void => {
    const key = this.#reserved.take(event.requestId);
    if (key === undefined) return;
    const close: WaitingClose = { event, sinceMs: this.#clock.monotonicMs(), key };
    if (this.#closes.length >= queuedClosesMax) this.#drop(close, 'too many closes wait');
    else this.#enqueue(close);
  };

  /** Key of an open reservation; undefined: it is closed, or not committed. */
  keyOf(requestId: string): number | undefined {
    return this.#reserved.get(requestId);
  }

  /** Written with the next commit, or by a separate one. */
  heartbeat(bootId: string, nowMs: number): void {
    this.#beat = { bootId, nowMs };
    this.#schedule();
  }

  /** For a reader that must see its own writes: commits what waits, which takes until another connection lets go. */
  async caughtUp(): Promise<void> {
    this.nudge();
    if (this.#retrying && this.#diskFault === null) await withinMs(this.#patienceMs(), this.drain(), null);
  }

  /** Tries to commit what waits at once. */
  nudge(): void {
    if (this.#retrying) return;
    this.#closesDue = this.#closes.length > 0;
    this.#turn();
  }

  /** Resolves when nothing waits: all is committed, refused or given up. */
  drain(): Promise<void> {
    this.#closesDue = this.#closes.length > 0;
    if (!this.#hasWork()) return Promise.resolve();
    this.#schedule();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Drains for the last time: what cannot be written soon is charged at its estimate by the next start. */
  async stop(): Promise<void> {
    this.#giveUpMs = this.#clock.monotonicMs() + stopRetryMs;
    await this.drain();
    this.admit('Culvert is shutting down', 'for-good');
  }

  /** Refuses new reservations for a reason, or lifts that (null) unless it was for good. */
  admit(refusal: string | null, lasting?: 'for-good'): void {
    if (this.#refusedForGood) return;
    this.#refusal = refusal;
    this.#refusedForGood = lasting === 'for-good';
  }

  /** Why reservations are refused right now, in words; null when they are not. */
  trouble(): string | null {
    return this.#refusal ?? this.#diskFault;
  }

  gauges(): { queued: number; open: number; dropped: number } {
    return { queued: this.#opens.length + this.#closes.length, open: this.#reserved.size, dropped: this.#dropped };
  }

  #enqueue(close: WaitingClose): void {
    this.#closes.push(close);
    if (this.#closes.length >= closeBatchRows) {
      this.#closesDue = true;
      this.#schedule();
    } else if (this.#closeTimer === null) this.#closeTimer = setTimeout(this.#closesAreDue, closeDelayMs);
  }

  readonly #closesAreDue = (): void => {
    this.#closeTimer = null;
    if (this.#closes.length === 0) return;
    this.#closesDue = true;
    this.#schedule();
  };

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#gather);
  }

  readonly #gather = (): void => {
    this.#gathered += 1;
    if (this.#gathered < gatherTurns && this.#opens.length < openBatchRows && this.#reserved.size > 0) {
      setImmediate(this.#gather);
      return;
    }
    this.#gathered = 0;
    this.#turn();
  };

  #retry(afterMs: number): void {
    this.#scheduled = true;
    this.#retrying = true;
    setTimeout(() => this.#turn(), afterMs);
  }

  #turn(): void {
    this.#scheduled = false;
    this.#retrying = false;
    if (this.#hasWork()) {
      const batch = this.#takeBatch();
      try {
        this.#write(batch.opens, batch.closes);
      } catch (error) {
        this.#putBack(batch);
        // The next beat is a few seconds away: no reason to keep trying this one.
        this.#beat = null;
        if (isPassing(sqliteCode(error))) this.#tryAgain(error);
        else this.#oneByOne();
      }
    }
    if (this.#hasWork()) this.#schedule();
    else if (this.#drained.length > 0) {
      for (const resolve of this.#drained.splice(0)) resolve();
    }
  }

  #hasWork(): boolean {
    return this.#opens.length > 0 || this.#closesDue || this.#beat !== null;
  }

  #takeBatch(): Batch {
    // Opens first: callers wait for them.
    const openCount = Math.min(this.#opens.length, batchRowsMax);
    const closeCount = this.#closesDue ? Math.min(this.#closes.length, batchRowsMax - openCount) : 0;
    const batch = { opens: this.#opens, closes: closeCount === 0 ? noCloses : this.#closes };
    if (openCount === this.#opens.length) this.#opens = [];
    else {
      batch.opens = this.#opens.slice(0, openCount);
      this.#opens = this.#opens.slice(openCount);
    }
    if (closeCount === this.#closes.length) this.#closes = [];
    else if (closeCount > 0) {
      batch.closes = this.#closes.slice(0, closeCount);
      this.#closes = this.#closes.slice(closeCount);
    }
    if (this.#closes.length === 0) this.#closesDue = false;
    return batch;
  }

  #putBack(batch: Batch): void {
    this.#opens = batch.opens.concat(this.#opens);
    this.#closes = batch.closes.concat(this.#closes);
    this.#closesDue ||= batch.closes.length > 0;
  }

  /** One transaction; throws with nothing written. */
  #write(opens: readonly WaitingOpen[], closes: readonly WaitingClose[]): void {
    const writer = this.#writer;
    writer.begin();
    try {
      if (this.#beat !== null) writer.writeHeartbeat(this.#beat.bootId, this.#beat.nowMs);
      for (const { key, event } of closes) {
        if (key === null) writer.writeRefusal(event);
        else writer.writeEvent(key, event);
      }
      for (const open of opens) open.key = writer.writeReservation(open.row);
      writer.commit();
    } catch (error) {
      writer.rollback();
      throw error;
    }
    this.#beat = null;
    this.#diskFault = null;
    for (const { row, key, done } of opens) {
      this.#reserved.set(row.requestId, key);
      this.calls.add(row.atMs, row);
      done.resolve();
    }
    this.#observer.onCommitted();
  }

  /** The same rows may pass later. */
  #tryAgain(error: unknown): void {
    const code = sqliteCode(error);
    const busy = code === sqliteBusy || code === sqliteLocked;
    if (!busy) this.#diskFault = messageOf(error);
    this.#expire(messageOf(error), code === sqliteFull ? 'disk-full' : undefined);
    if (this.#hasWork()) this.#retry(busy ? busyRetryMs : faultRetryMs);
  }

  /** One row in the batch cannot be written at all: it must not take the others with it. */
  #oneByOne(): void {
    const all = this.#takeBatch();
    for (const open of all.opens) {
      try {
        this.#write([open], []);
      } catch (error) {
        if (isPassing(sqliteCode(error))) this.#opens.push(open);
        else open.done.reject(this.#refusalOf(error));
      }
    }
    for (const close of all.closes) {
      try {
        this.#write([], [close]);
      } catch (error) {
        if (isPassing(sqliteCode(error))) this.#putBack({ opens: [], closes: [close] });
        else this.#drop(close, messageOf(error));
      }
    }
  }

  /** A damaged file is not a fault of the request: nothing more is written into it. */
  #refusalOf(error: unknown): Error {
    const code = sqliteCode(error);
    if (code !== sqliteCorrupt && code !== sqliteNotADatabase)
      return error instanceof Error ? error : new Error(String(error));
    this.#refusal = `ledger.db is damaged on the disk: ${String(error)}. Stop Culvert and restore a backup`;
    this.#refusedForGood = true;
    return notRecorded('the ledger is damaged on the disk');
  }

  #expire(reason: string, cause?: 'disk-full'): void {
    const nowMs = this.#clock.monotonicMs();
    const patienceMs = this.#patienceMs();
    const isLate = ({ sinceMs, byMs }: WaitingOpen) => nowMs >= Math.min(sinceMs + patienceMs, byMs);
    const late = this.#opens.filter(isLate);
    if (late.length > 0) this.#opens = this.#opens.filter((open) => !isLate(open));
    for (const { done } of late) done.reject(notRecorded(reason, cause));
    // A record of a refused request holds up no stop.
    if (this.#giveUpMs < Number.POSITIVE_INFINITY && this.#diskFault !== null)
      this.#closes = this.#closes.filter(({ key }) => key !== null);
    const isOver = ({ sinceMs }: WaitingClose) => nowMs - sinceMs >= closeRetryMs || nowMs >= this.#giveUpMs;
    for (let first = this.#closes[0]; first !== undefined && isOver(first); first = this.#closes[0]) {
      this.#closes.shift();
      this.#drop(first, reason);
    }
    if (this.#closes.length === 0) this.#closesDue = false;
  }

  #patienceMs(): number {
    return this.#observer.isCheckpointing?.() === true ? checkpointWaitMs : openTimeoutMs;
  }

  #drop(close: WaitingClose, reason: string): void {
    if (close.key === null) return;
    this.#dropped += 1;
    this.#observer.onDropped(close.event, reason);
  }
}

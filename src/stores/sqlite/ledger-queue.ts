import type { Clock } from '../../kernel/clock.ts';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import {
  closeBatchRows,
  closeDelayMs,
  closeRetryMs,
  notRecorded,
  openTimeoutMs,
  queuedOpensMax,
} from '../ledger-waits.ts';
import {
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
 * (measured at c=10: 118-127 µs of CPU a request without, 7 less with two turns, 15-20 with three). Where no other
 * request runs nobody is waited for: at 500 requests a second the turns would be 0.05 ms of latency for nothing.
 */
const openBatchRows = 8;
const gatherTurns = 3;
/** Another connection writes, mostly the checkpoint's last step: it is over in a moment. */
const busyRetryMs = 2;
/** The disk is full or failing. */
const faultRetryMs = 50;

export interface LedgerQueue {
  open(row: ReservationRow): Promise<void>;
  close(event: UsageEvent): void;
  /** See the port's `note`. */
  note(refused: UsageEvent): void;
  /** Written with the next commit, or by one of its own. */
  heartbeat(bootId: string, nowMs: number): void;
  /** Tries to commit what waits at once, for a reader that must see its own writes. */
  nudge(): void;
  /** Resolves when nothing waits: all is committed, refused or given up. */
  drain(): Promise<void>;
  /** Refuses new reservations for a reason, or lifts that (null) unless it was for good. */
  admit(refusal: string | null, lasting?: 'for-good'): void;
  /** Why reservations are refused right now, in words; null when they are not. */
  trouble(): string | null;
  gauges(): { queued: number; open: number; dropped: number };
}

export interface QueueObserver {
  onCommitted(): void;
  /** A reservation is in the books. */
  onOpened(row: ReservationRow): void;
  /** A close that will not be written, and why. */
  onDropped(event: UsageEvent, reason: string): void;
}

interface WaitingOpen {
  row: ReservationRow;
  sinceMs: number;
  key: number;
  resolve(): void;
  reject(error: Error): void;
}

interface WaitingClose {
  event: UsageEvent;
  sinceMs: number;
  /** Of its reservation; null for the record of a refused request, which never had one. */
  key: number | null;
}

/**
 * Group commit without a thread: what came in during a turn of the loop, or three, is one transaction at its end.
 * A commit that fails leaves everything queued and is tried again; nothing blocks the loop but the commit itself.
 */
export function createLedgerQueue(writer: LedgerWriter, clock: Clock, observer: QueueObserver): LedgerQueue {
  let opens: WaitingOpen[] = [];
  let closes: WaitingClose[] = [];
  /** Committed reservations of this process, by request id: what `close` may close, once. */
  const reserved = new Map<string, number>();
  /** Enough closes wait, or the oldest has waited long enough. */
  let closesDue = false;
  let closeTimer: NodeJS.Timeout | null = null;
  let beat: { bootId: string; nowMs: number } | null = null;
  let scheduled = false;
  /** Turns of the loop since `schedule`. */
  let gathered = 0;
  let retrying = false;
  let refusal: string | null = null;
  /** What the disk said to the last commit, the next of which may pass; a heartbeat is the next at the latest. */
  let diskFault: string | null = null;
  let refusedForGood = false;
  let dropped = 0;
  let drained: (() => void)[] = [];

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(gather);
  }

  function gather(): void {
    gathered += 1;
    if (gathered < gatherTurns && opens.length < openBatchRows && reserved.size > 0) {
      setImmediate(gather);
      return;
    }
    gathered = 0;
    turn();
  }

  function retry(afterMs: number): void {
    scheduled = true;
    retrying = true;
    setTimeout(turn, afterMs);
  }

  function turn(): void {
    scheduled = false;
    retrying = false;
    if (!hasWork()) {
      settleDrain();
      return;
    }
    const batch = takeBatch();
    try {
      write(batch.opens, batch.closes);
    } catch (error) {
      putBack(batch);
      // The next beat is a few seconds away: no reason to keep trying this one.
      beat = null;
      const code = sqliteCode(error);
      if (code !== null && isPassing(code)) {
        const busy = code === sqliteBusy || code === sqliteLocked;
        if (!busy) diskFault = String(error);
        expire(String(error), code === sqliteFull ? 'disk-full' : undefined);
        if (hasWork()) retry(busy ? busyRetryMs : faultRetryMs);
        else settleDrain();
        return;
      }
      oneByOne();
    }
    if (hasWork()) schedule();
    else settleDrain();
  }

  function enqueue(close: WaitingClose): void {
    closes.push(close);
    if (closes.length >= closeBatchRows) {
      closesDue = true;
      schedule();
    } else if (closeTimer === null) closeTimer = setTimeout(closesAreDue, closeDelayMs);
  }

  function closesAreDue(): void {
    closeTimer = null;
    if (closes.length === 0) return;
    closesDue = true;
    schedule();
  }

  function takeBatch(): { opens: WaitingOpen[]; closes: WaitingClose[] } {
    const dueCloses = closesDue ? closes.length : 0;
    // Opens first: somebody waits for them.
    const openCount = Math.min(opens.length, batchRowsMax);
    const closeCount = Math.min(dueCloses, batchRowsMax - openCount);
    const batch = { opens, closes: closeCount === 0 ? noCloses : closes };
    if (openCount === opens.length) opens = [];
    else {
      batch.opens = opens.slice(0, openCount);
      opens = opens.slice(openCount);
    }
    if (closeCount === closes.length) closes = [];
    else if (closeCount > 0) {
      batch.closes = closes.slice(0, closeCount);
      closes = closes.slice(closeCount);
    }
    if (closes.length === 0) closesDue = false;
    return batch;
  }

  function putBack(batch: { opens: WaitingOpen[]; closes: WaitingClose[] }): void {
    opens = batch.opens.concat(opens);
    closes = batch.closes.concat(closes);
    closesDue ||= batch.closes.length > 0;
  }

  /** One transaction; throws with nothing written. */
  function write(newOpens: readonly WaitingOpen[], newCloses: readonly WaitingClose[]): void {
    writer.begin();
    try {
      if (beat !== null) writer.writeHeartbeat(beat.bootId, beat.nowMs);
      for (let at = 0; at < newCloses.length; at += 1) {
        const close = newCloses[at]!;
        if (close.key === null) writer.writeRefusal(close.event);
        else writer.writeEvent(close.key, close.event);
      }
      for (let at = 0; at < newOpens.length; at += 1) {
        const open = newOpens[at]!;
        open.key = writer.writeReservation(open.row);
      }
      writer.commit();
    } catch (error) {
      writer.rollback();
      throw error;
    }
    beat = null;
    diskFault = null;
    for (let at = 0; at < newOpens.length; at += 1) {
      const open = newOpens[at]!;
      reserved.set(open.row.requestId, open.key);
      observer.onOpened(open.row);
      open.resolve();
    }
    observer.onCommitted();
  }

  /** One row in the batch cannot be written at all: it must not take the others with it. */
  function oneByOne(): void {
    const all = takeBatch();
    for (const open of all.opens) {
      try {
        write([open], []);
      } catch (error) {
        if (isPassing(sqliteCode(error))) opens.push(open);
        else open.reject(refusalOf(error));
      }
    }
    for (const close of all.closes) {
      try {
        write([], [close]);
      } catch (error) {
        if (isPassing(sqliteCode(error))) putBack({ opens: [], closes: [close] });
        else drop(close, String(error));
      }
    }
  }

  /** A damaged file is no fault of the request's: nothing more is written into it. */
  function refusalOf(error: unknown): Error {
    const code = sqliteCode(error);
    if (code !== sqliteCorrupt && code !== sqliteNotADatabase)
      return error instanceof Error ? error : new Error(String(error));
    refusal = `ledger.db is damaged on the disk: ${String(error)}; stop Culvert and restore a backup`;
    refusedForGood = true;
    return notRecorded('the ledger is damaged on the disk');
  }

  function expire(reason: string, cause?: 'disk-full'): void {
    const nowMs = clock.monotonicMs();
    const late = opens.filter((open) => nowMs - open.sinceMs >= openTimeoutMs);
    if (late.length > 0) {
      opens = opens.filter((open) => nowMs - open.sinceMs < openTimeoutMs);
      for (const open of late) open.reject(notRecorded(reason, cause));
    }
    while (closes.length > 0 && nowMs - closes[0]!.sinceMs >= closeRetryMs) drop(closes.shift()!, reason);
  }

  function drop(close: WaitingClose, reason: string): void {
    if (close.key === null) return;
    dropped += 1;
    observer.onDropped(close.event, reason);
  }

  function hasWork(): boolean {
    return opens.length > 0 || closesDue || beat !== null;
  }

  function settleDrain(): void {
    const waiters = drained;
    drained = [];
    for (const resolve of waiters) resolve();
  }

  return {
    open(row) {
      if (refusal !== null) return Promise.reject(notRecorded(refusal));
      if (opens.length >= queuedOpensMax || reserved.size >= reservedMax)
        return Promise.reject(notRecorded('too many requests are open'));
      return new Promise((resolve, reject) => {
        opens.push({ row, sinceMs: clock.monotonicMs(), key: 0, resolve, reject });
        schedule();
      });
    },
    note(refused) {
      if (closes.length >= queuedNotesMax) return;
      enqueue({ event: refused, sinceMs: clock.monotonicMs(), key: null });
    },
    close(event) {
      const key = reserved.get(event.requestId);
      if (key === undefined) return;
      reserved.delete(event.requestId);
      const close: WaitingClose = { event, sinceMs: clock.monotonicMs(), key };
      if (closes.length >= queuedClosesMax) {
        drop(close, 'too many closes wait');
        return;
      }
      enqueue(close);
    },
    heartbeat(bootId, nowMs) {
      beat = { bootId, nowMs };
      schedule();
    },
    nudge() {
      if (retrying) return;
      closesDue = closes.length > 0;
      turn();
    },
    drain() {
      closesDue = closes.length > 0;
      if (!hasWork()) return Promise.resolve();
      schedule();
      return new Promise((resolve) => drained.push(resolve));
    },
    admit(reason, lasting) {
      if (refusedForGood) return;
      refusal = reason;
      refusedForGood = lasting === 'for-good';
    },
    trouble: () => refusal ?? diskFault,
    gauges: () => ({ queued: opens.length + closes.length, open: reserved.size, dropped }),
  };
}

const noCloses: WaitingClose[] = [];

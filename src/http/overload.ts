import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../kernel/clock.ts';

/** How often the loop is looked at while requests come, and how late a look must be for requests to take turns. */
const lookMs = 20;
/** New requests fill a turn of the loop up to this, after the work in progress. Longer turns are not cheaper. */
const turnMs = 5;
/** New requests have this much of a turn, however much work is in progress. */
const turnLeastMs = 2;
/** Node accepts one connection a turn: those that come together get short turns before the next request begins. */
const acceptMs = 5;
/** Requests take turns until none had to wait, and no look was late, for so long. */
const calmAfterMs = 500;
/** Where turns that accept take longer on average, connections wait for each other. */
const acceptTurnMs = 1;
/**
 * The pace is judged by so many requests, and by a tenth of the longest wait within these bounds, of full turns. It is an
 * average over the longer. A hiccup refuses nobody: a collection of garbage took 111 ms of a turn that began 23 requests.
 */
const paceMs = { least: 50, most: 500 };
const paceRequests = 16;
/** Requests that wait, of all accounts. */
const waitingMax = 4_096;
/** Retry-After of a refused caller. */
const restMs = 1_000;
const heapLookMs = 1_000;
/** Share of V8's heap above which nobody is let in. */
const heapShareMax = 0.92;

export type Turn = 'begin' | 'refuse';

/** A request that may have to wait for its turn. */
export interface Comer {
  account: string;
  client: { readonly disconnected: boolean };
}

interface Waiter {
  comer: Comer;
  sinceMs: number;
  decide(turn: Turn): void;
}

export interface OverloadParts {
  clock: Pick<Clock, 'monotonicMs'>;
  /** Longest wait for a turn; null: nobody waits, and nobody is refused. */
  delayMs(): number | null;
  /** Share of the heap that is in use. Default: V8's. */
  heapShare?(): number;
}

/**
 * Lets in as many requests as the loop has time for (docs/decisions/0044). While the loop is on time it is only looked
 * at. Once it is late, requests wait in lines, one for each account, and each turn of the loop begins as many as its time
 * allows after the work in progress, account by account. A request that would wait for longer than `delayMs` is refused
 * at once, by the line of its account: an account with few requests passes those of one that floods.
 */
export class Overload {
  /** Whether requests take turns. */
  engaged = false;
  /** Whether the loop is looked at. */
  watching = false;
  /** Requests since the last look that did not have to wait. */
  calls = 0;
  /** A connection was accepted since the last turn of the loop. */
  private accepted = false;
  /** Turns in a row that have accepted one, and when the first of them did. */
  private acceptTurns = 0;
  private acceptTurnsSinceMs = 0;
  /** How late the loop was at the last look. */
  lateMs = 0;
  waiting = 0;
  private readonly parts: OverloadParts;
  /** Requests that wait, by account. */
  private readonly lines = new Map<string, Waiter[]>();
  /** Accounts of the lines; the one whose turn it is comes first. */
  private readonly order: string[] = [];
  private timer: NodeJS.Timeout | null = null;
  private dueMs = Number.POSITIVE_INFINITY;
  private heapReadMs = Number.NEGATIVE_INFINITY;
  private heapFull = false;
  private readonly resting: { socket: Socket; untilMs: number }[] = [];
  /** Last time that a request had to wait for another turn, or that a look was late. */
  private busyMs = 0;
  /** A request takes so much of the loop's time, as far as it is known. */
  private msEach = 0;
  private acceptingSinceMs: number | null = null;
  private taking = false;
  /** When the present turn of the loop began, and when it has no more time for new requests. */
  private turnedMs = 0;
  private beganMs = 0;
  private untilMs = 0;
  private begun = 0;
  private fullMs = 0;
  private begunInFull = 0;

  constructor(parts: OverloadParts) {
    this.parts = parts;
  }

  /** Whether this one may begin, once that is known. To be called while `engaged`. */
  take(comer: Comer): Promise<Turn> {
    const nowMs = this.parts.clock.monotonicMs();
    if (this.isFullFor(comer.account)) {
      this.busyMs = nowMs;
      return refused;
    }
    return new Promise((decide) => this.wait({ comer, sinceMs: nowMs, decide }));
  }

  /**
   * A connection was accepted. While each turn accepts one and is not short, others wait for that, health checks too: 3,000
   * at once for 5 s, and no turn was late. So requests take turns, which leaves time to accept.
   */
  tookConnection(): void {
    this.accepted = true;
    if (this.engaged || this.parts.delayMs() === null) return;
    const nowMs = this.parts.clock.monotonicMs();
    if (this.acceptTurns === 0) this.acceptTurnsSinceMs = nowMs;
    this.acceptTurns += 1;
    const turns = this.acceptTurns;
    const ms = nowMs - this.acceptTurnsSinceMs;
    if (ms > lookMs && ms > turns * acceptTurnMs) {
      this.acceptTurns = 0;
      this.engaged = true;
      this.busyMs = nowMs;
      if (!this.watching) this.look();
      return;
    }
    // Behind the sockets of the next turn.
    setImmediate(() =>
      setImmediate(() => {
        if (this.acceptTurns === turns) this.acceptTurns = 0;
      }),
    );
  }

  /**
   * Pauses a refused caller's connection until its Retry-After is over. To refuse callers who come again at once would
   * take the time of those who are served.
   */
  rest(response: ServerResponse): void {
    const { socket } = response;
    if (socket === null) return;
    response.once('close', () =>
      setImmediate(() => {
        if (socket.destroyed) return;
        socket.pause();
        this.resting.push({ socket, untilMs: this.parts.clock.monotonicMs() + restMs });
      }),
    );
  }

  private wake(nowMs: number): void {
    let woken = 0;
    for (const { socket, untilMs } of this.resting) {
      if (untilMs > nowMs) break;
      woken += 1;
      socket.resume();
    }
    if (woken > 0) this.resting.splice(0, woken);
  }

  /** Looks at the loop again and again, for as long as requests come. */
  readonly look = (): void => {
    const nowMs = this.parts.clock.monotonicMs();
    this.lateMs = Math.max(0, nowMs - this.dueMs);
    if (this.lateMs > lookMs || this.engaged) this.judge(nowMs);
    if (this.resting.length > 0) this.wake(nowMs);
    this.watching = this.calls > 0 || this.engaged || this.resting.length > 0;
    this.dueMs = this.watching ? nowMs + lookMs : Number.POSITIVE_INFINITY;
    this.calls = 0;
    if (!this.watching) return;
    if (this.timer === null) this.timer = setTimeout(this.look, lookMs).unref();
    else this.timer.refresh();
  };

  /** Decides whether requests take turns from now on. A heap that is full makes the loop late, too. */
  private judge(nowMs: number): void {
    const { heapShare = shareOfV8, delayMs } = this.parts;
    const isOff = delayMs() === null;
    if (nowMs - this.heapReadMs >= heapLookMs) {
      this.heapReadMs = nowMs;
      this.heapFull = !isOff && heapShare() > heapShareMax;
    }
    if (!isOff && (this.lateMs > lookMs || this.heapFull)) {
      this.engaged = true;
      this.busyMs = nowMs;
    } else if (this.waiting === 0 && (isOff || nowMs - this.busyMs > calmAfterMs)) {
      this.engaged = false;
      this.msEach = 0;
      this.forgetTurns();
    }
  }

  /** Judges by the requests before it: of each account as many as wait of this one, and no more than all. */
  private isFullFor(account: string): boolean {
    if (this.heapFull || this.waiting >= waitingMax) return true;
    const mine = this.lines.get(account)?.length ?? 0;
    const before = Math.min(this.waiting, (mine + 1) * this.lines.size);
    return before * this.msEach > this.longestMs();
  }

  private longestMs(): number {
    return this.parts.delayMs() ?? Number.POSITIVE_INFINITY;
  }

  private wait(waiter: Waiter): void {
    const { account } = waiter.comer;
    const line = this.lines.get(account);
    if (line === undefined) {
      this.lines.set(account, [waiter]);
      this.order.push(account);
    } else line.push(waiter);
    this.waiting += 1;
    if (this.taking) return;
    this.taking = true;
    this.turnedMs = waiter.sinceMs;
    setImmediate(this.turn);
  }

  /** Runs after the sockets were read. What is left of this turn of the loop is for those who wait. */
  private readonly turn = (): void => {
    const nowMs = this.parts.clock.monotonicMs();
    if (this.accepted) {
      this.accepted = false;
      if (this.acceptingSinceMs === null) this.acceptingSinceMs = nowMs;
      if (nowMs - this.acceptingSinceMs < acceptMs) {
        setImmediate(this.turn);
        return;
      }
    }
    this.acceptingSinceMs = null;
    this.untilMs = nowMs + Math.max(turnMs - (nowMs - this.turnedMs), turnLeastMs);
    this.beganMs = nowMs;
    this.begun = 0;
    this.beginNext();
  };

  private readonly beginNext = (): void => {
    const nowMs = this.parts.clock.monotonicMs();
    const waiter = nowMs < this.untilMs || this.begun === 0 ? this.first() : null;
    if (waiter === null) return this.endTurn(nowMs);
    this.decide(waiter, nowMs);
    // Its microtasks and ticks come first, so that the next look at the clock finds most of what it does at once.
    queueMicrotask(() => process.nextTick(this.beginNext));
  };

  /** Takes the one whose turn it is out of its line; null: none waits. */
  private first(): Waiter | null {
    const account = this.order.shift();
    const line = account === undefined ? undefined : this.lines.get(account);
    if (account === undefined || line === undefined) return null;
    const waiter = line.shift() ?? null;
    if (line.length > 0) this.order.push(account);
    else this.lines.delete(account);
    this.waiting -= 1;
    return waiter;
  }

  private decide({ comer, sinceMs, decide }: Waiter, nowMs: number): void {
    // The pace was less than it seemed when it came.
    if (comer.client.disconnected || nowMs - sinceMs > 2 * this.longestMs()) return decide('refuse');
    this.begun += 1;
    decide('begin');
  }

  private endTurn(nowMs: number): void {
    this.judgePace(nowMs - this.turnedMs, nowMs - this.beganMs);
    this.turnedMs = nowMs;
    this.taking = this.waiting > 0;
    if (this.taking) setImmediate(this.turn);
  }

  /**
   * Turns after which some still wait tell what a request takes. Others tell that it takes no more than twice its
   * beginning: most of such a turn may have gone to refusals, and a pace by them would refuse everybody for ever.
   */
  private judgePace(ms: number, beginningMs: number): void {
    if (this.waiting === 0) {
      if (this.begun === 0) return;
      this.msEach = Math.min(this.msEach, (2 * beginningMs) / this.begun);
      return this.forgetTurns();
    }
    this.busyMs = this.turnedMs;
    this.fullMs += ms;
    this.begunInFull += this.begun;
    const leastMs = Math.min(paceMs.most, Math.max(paceMs.least, this.longestMs() / 10));
    if (this.fullMs < leastMs || this.begunInFull < paceRequests) return;
    this.msEach = this.fullMs / this.begunInFull;
    if (this.fullMs <= paceMs.most) return;
    this.begunInFull *= paceMs.most / this.fullMs;
    this.fullMs = paceMs.most;
  }

  private forgetTurns(): void {
    this.fullMs = 0;
    this.begunInFull = 0;
  }
}

const refused: Promise<Turn> = Promise.resolve('refuse');

function shareOfV8(): number {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  return used_heap_size / heap_size_limit;
}

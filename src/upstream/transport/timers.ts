import { type Clock, systemClock } from '../../kernel/clock.ts';

/** A clock with timers: given, not taken, so that tests move it. */
export interface Time extends Clock {
  /** Calls `wake` once, after `ms`. Its result goes to `cancel`, at any time and any number of times. */
  after(ms: number, wake: () => void): unknown;
  cancel(alarm: unknown): void;
}

export const systemTime: Time = {
  ...systemClock,
  after: (ms, wake) => setTimeout(wake, ms),
  cancel: (alarm) => clearTimeout(alarm as NodeJS.Timeout),
};

interface Alarm {
  dueMs: number;
  wake: () => void;
  /** Its index in the list; -1: it went off or was cancelled. */
  place: number;
}

/**
 * Alarms that are nearly always cancelled long before they are due, such as those of attempts: setting one is a push onto
 * a list, and one timer of Node's looks at the list when the first one may be due. A timer each costs 1.5 µs.
 */
class Alarms implements Pick<Time, 'after' | 'cancel'> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #set: Alarm[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** When the list is looked at. */
  #looksMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  after(ms: number, wake: () => void): Alarm {
    const alarm: Alarm = { dueMs: this.#clock.monotonicMs() + ms, wake, place: this.#set.length };
    this.#set.push(alarm);
    if (alarm.dueMs < this.#looksMs) this.#lookIn(ms, alarm.dueMs);
    else if (alarm.place === 0) this.#timer?.ref();
    return alarm;
  }

  cancel(alarm: unknown): void {
    const { place } = alarm as Alarm;
    if (place === -1) return;
    const last = this.#set.pop();
    if (last !== undefined && last !== alarm) {
      this.#set[place] = last;
      last.place = place;
    }
    (alarm as Alarm).place = -1;
    // A process without an attempt may end.
    if (this.#set.length === 0) this.#timer?.unref();
  }

  #lookIn(ms: number, atMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#looksMs = atMs;
    // A fraction early would be a look for nothing.
    this.#timer = setTimeout(() => this.#look(), Math.ceil(ms));
  }

  #look(): void {
    this.#timer = null;
    this.#looksMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    const due = this.#set.filter(({ dueMs }) => dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs);
    try {
      for (const alarm of due) {
        if (alarm.place === -1) continue;
        this.cancel(alarm);
        alarm.wake();
      }
    } finally {
      // One that throws keeps no other from going off.
      const nextMs = this.#set.reduce((least, { dueMs }) => Math.min(least, dueMs), this.#looksMs);
      if (this.#set.length > 0 && nextMs < this.#looksMs) this.#lookIn(Math.max(1, nextMs - nowMs), nextMs);
    }
  }
}

const alarms = new Alarms(systemClock);

/** The system's time for attempts: `after` costs next to nothing. */
export const attemptTime: Time = {
  ...systemClock,
  after: (ms, wake) => alarms.after(ms, wake),
  cancel: (alarm) => alarms.cancel(alarm),
};

export type ExpiredTimer = 'first-token' | 'idle' | 'total';

export interface AttemptLimits {
  /** From now to the first content; a whole answer counts as content when it is complete. */
  firstTokenMs: number;
  /** Between two pieces of content. */
  idleMs: number;
  /** An instant on the monotonic clock, shared by all attempts of one request. */
  totalDeadlineMs: number;
}

/** Node's timers overflow above this and fire at once. */
const alarmMaxMs = 2 ** 31 - 1;

/**
 * The clocks of one attempt. Content resets them, not bytes or comments. One alarm serves all three: content only notes
 * the time, and an alarm that goes off too early is set again for the rest. So a stream of 10,000 chunks costs 10,000
 * assignments and a handful of timers.
 */
export class AttemptTimers {
  private readonly limits: AttemptLimits;
  private readonly onExpire: (timer: ExpiredTimer) => void;
  private readonly time: Time;
  private alarm: unknown;
  private state: 'running' | 'paused' | 'stopped' = 'running';
  private waitsFor: 'first-token' | 'idle' = 'first-token';
  /** When the wait for the next content began, moved on by the length of each pause. */
  private sinceMs: number;
  /** How long it may last. */
  private waitMs: number;
  private pausedAtMs = 0;

  /** `onExpire` is called at most once, and the timers are stopped by then. */
  constructor(limits: AttemptLimits, onExpire: (timer: ExpiredTimer) => void, time: Time = attemptTime) {
    this.limits = limits;
    this.onExpire = onExpire;
    this.time = time;
    this.sinceMs = time.monotonicMs();
    this.waitMs = limits.firstTokenMs;
    this.set(this.sinceMs);
  }

  /** Content has arrived. Cheap: may be called for every chunk. */
  content(): void {
    if (this.state === 'stopped') return;
    const nowMs = this.time.monotonicMs();
    this.sinceMs = nowMs;
    // Bytes that were on their way when the pause began: the paused wait is a new one.
    if (this.state === 'paused') this.pausedAtMs = nowMs;
    if (this.waitsFor === 'idle') return;
    this.waitsFor = 'idle';
    this.waitMs = this.limits.idleMs;
    // The alarm may be set for later than the new wait's end.
    if (this.limits.idleMs < this.limits.firstTokenMs) this.reset();
  }

  /** Pauses for a slow reader: `first-token` and `idle` do not run until `resume`, `total` does. */
  pause(): void {
    if (this.state !== 'running') return;
    this.state = 'paused';
    this.pausedAtMs = this.time.monotonicMs();
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    this.sinceMs += this.time.monotonicMs() - this.pausedAtMs;
    // While paused an alarm may have gone off and been set for `total` only.
    this.reset();
  }

  /** Nothing fires any more. Idempotent. */
  stop(): void {
    if (this.state === 'stopped') return;
    this.state = 'stopped';
    this.time.cancel(this.alarm);
  }

  private check(): void {
    if (this.state === 'stopped') return;
    const nowMs = this.time.monotonicMs();
    if (nowMs >= this.limits.totalDeadlineMs) this.expire('total');
    else if (this.state === 'running' && nowMs >= this.sinceMs + this.waitMs) this.expire(this.waitsFor);
    else this.set(nowMs);
  }

  private reset(): void {
    this.time.cancel(this.alarm);
    this.set(this.time.monotonicMs());
  }

  private set(nowMs: number): void {
    const total = this.limits.totalDeadlineMs;
    const nextMs = this.state === 'paused' ? total : Math.min(total, this.sinceMs + this.waitMs);
    // Timers count whole ms and may go off a fraction early: up, and never 0, or `check` would spin.
    const waitMs = Math.max(1, Math.ceil(nextMs - nowMs));
    this.alarm = this.time.after(Math.min(waitMs, alarmMaxMs), () => this.check());
  }

  private expire(timer: ExpiredTimer): void {
    this.stop();
    this.onExpire(timer);
  }
}

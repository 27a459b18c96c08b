import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../../kernel/backoff.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { every } from '../../../kernel/every.ts';
import { webhookHeaders } from '../../../kernel/web/webhook-headers.ts';
import { withinMs } from '../../../kernel/within-ms.ts';
import type { PlanBook } from '../plan-book.ts';
import { addresseeOf, type ReceiverKind } from './addressee.ts';
import type { Notice, NoticeStore } from './notice-store.ts';
import { type Post, postNotice } from './post-notice.ts';

/** Posts queued notices until they are received or given up. The queue is in the store, so it survives the process. */
export interface NoticeDelivery {
  /** Looks for due notices now; resolves when those it found are dealt with. Never rejects. */
  look(): Promise<void>;
  start(): void;
  /** Nothing is begun any more; resolves when no try is under way, or after a second. */
  stop(): Promise<void>;
}

/** Sends to a receiver by its name; rejects with the reason when it did not arrive. `gone`: there is none any more. */
export type SendToReceiver = (receiver: string, notice: Notice) => Promise<'sent' | 'gone'>;

export interface DeliveryParts {
  store: NoticeStore;
  plans: () => PlanBook;
  clock: Clock;
  post: Post;
  send: Readonly<Record<ReceiverKind, SendToReceiver>>;
  /** For the operator's log; no secrets. */
  onTrouble(message: string): void;
}

/** Longer than a try takes: a process that dies in one leaves it to another after this. */
const leaseMs = 30_000;
/** Maximum time that a stop waits for running tries. One that is cut comes again, with its id, when its lease ends. */
const stopWaitMs = 1_000;
/** Pauses between tries to write how one ended. */
const writePauses = { firstMs: 100, maxMs: 2_000 };
const lookIntervalMs = 5_000;
/** Maximum number of concurrent tries; others wait in the store. */
const underWayMax = 8;
/** Maximum number of one receiver: while it hangs, those of others go out. */
const ofReceiverMax = 4;

/** Names of the messages to receivers, for the log. */
const nouns: Readonly<Record<ReceiverKind, string>> = { alerts: 'alerts', statement: 'statements' };

const secondMs = 1_000;
const minuteMs = 60_000;
/** Pauses between failed tries: eight tries in an hour. */
export const retryGapsMs: readonly number[] = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  5 * minuteMs,
  10 * minuteMs,
  20 * minuteMs,
  22 * minuteMs,
];

export function createNoticeDelivery(parts: DeliveryParts): NoticeDelivery {
  const { store, plans, clock, post, send, onTrouble } = parts;
  let stopLooking: (() => void) | null = null;
  let stopped = false;
  const isStopped = () => stopped;
  let taking: Promise<void> | null = null;
  let takeAgain = false;
  /** The last look may have left some for want of room: the next try that ends looks again. */
  let moreWait = false;
  let inTrouble = false;
  /** Plans and receivers whose newest try failed. */
  const failing = new Set<string>();
  const underWay = new Set<Promise<void>>();
  /** Number of them for each plan, or receiver of alerts. */
  const ofPlans = new Map<string, number>();

  async function deliver(notice: Notice): Promise<void> {
    const to = addresseeOf(notice);
    const subject = to.kind === 'quota' ? `notices of plan ${to.plan}` : `${nouns[to.kind]} to ${to.receiver}`;
    let reason: string;
    try {
      const sent = to.kind === 'quota' ? await postOf(notice) : await send[to.kind](to.receiver, notice);
      if (sent === 'sent') {
        if (failing.delete(subject)) onTrouble(`${subject} arrive again`);
        const { id, tries } = notice;
        const how = { state: 'delivered', tries: tries + 1, reason: null, endedMs: clock.wallMs() } as const;
        return written(() => store.end(id, how), clock, isStopped);
      }
      reason =
        to.kind === 'quota'
          ? `The plan ${to.plan} has no webhook any more.`
          : `There is no receiver ${to.receiver} any more.`;
      onTrouble(`notice ${notice.id} was dropped: ${reason}`);
      return store.end(notice.id, { state: 'dropped', tries: notice.tries, reason, endedMs: clock.wallMs() });
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    const tries = notice.tries + 1;
    const gapMs = retryGapsMs[tries - 1] ?? null;
    if (gapMs === null) onTrouble(`notice ${notice.id} (${subject}) was given up after ${tries} tries: ${reason}`);
    else if (!failing.has(subject)) onTrouble(`${subject} do not arrive, and are tried again: ${reason}`);
    failing.add(subject);
    if (gapMs !== null) return store.retry(notice.id, { tries, nextMs: clock.wallMs() + gapMs, reason });
    return store.end(notice.id, { state: 'given_up', tries, reason, endedMs: clock.wallMs() });
  }

  async function postOf(notice: Notice): Promise<'sent' | 'gone'> {
    const book = plans();
    const notify = book.has(notice.plan) ? book.plan(notice.plan).notify : null;
    if (notify === null) return 'gone';
    await postNotice(post, notify.webhook, webhookHeaders(notice, notify.secret, clock.wallMs()), notice.body);
    return 'sent';
  }

  async function takeDue(): Promise<void> {
    while (takeAgain && !stopped) {
      takeAgain = false;
      const free = underWayMax - underWay.size;
      if (free === 0) return;
      const nowMs = clock.wallMs();
      const full = [...ofPlans].filter(([, tries]) => tries >= ofReceiverMax).map(([plan]) => plan);
      const most = Math.max(0, ...[...ofPlans.values()].filter((tries) => tries < ofReceiverMax));
      const due = await store.due(nowMs, nowMs + leaseMs, Math.min(free, ofReceiverMax - most), full);
      moreWait = full.length > 0 || due.length > 0;
      // A call of look() meanwhile may be for one that came after the question.
      takeAgain ||= due.length > 0;
      for (const notice of due) begin(notice);
      inTrouble = false;
    }
  }

  function begin(notice: Notice): void {
    const { plan } = notice;
    ofPlans.set(plan, (ofPlans.get(plan) ?? 0) + 1);
    const delivering = deliver(notice)
      // It comes again when its lease is over, with the same id.
      .catch((error: unknown) => {
        if (!stopped) onTrouble(`notice ${notice.id}: ${String(error)}`);
      })
      .finally(() => {
        underWay.delete(delivering);
        const left = (ofPlans.get(plan) ?? 1) - 1;
        if (left > 0) ofPlans.set(plan, left);
        else ofPlans.delete(plan);
        if (moreWait) void look();
      });
    underWay.add(delivering);
  }

  async function look(): Promise<void> {
    if (stopped) return;
    takeAgain = true;
    taking ??= takeDue()
      .catch((error: unknown) => {
        if (!inTrouble) onTrouble(`quota notices cannot be delivered: ${String(error)}`);
        inTrouble = true;
      })
      .finally(() => {
        taking = null;
        if (takeAgain) void look();
      });
    await taking;
    await Promise.all(underWay);
  }

  return {
    look,
    start() {
      void look();
      stopLooking = every(lookIntervalMs, () => void look());
    },
    async stop() {
      stopped = true;
      stopLooking?.();
      await withinMs(stopWaitMs, Promise.all([taking, ...underWay]), null);
    },
  };
}

/** Tries until the lease is over, or we stop: what is not written as sent goes out once more. */
async function written(write: () => Promise<void>, clock: Clock, isStopped: () => boolean): Promise<void> {
  const untilMs = clock.monotonicMs() + leaseMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (isStopped() || clock.monotonicMs() >= untilMs) throw error;
      await pause(backoffMs(tries, writePauses));
    }
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../../kernel/backoff.ts';
import { type Clock, minuteMs, secondMs } from '../../../kernel/clock.ts';
import { createDeliveries, type Deliveries } from '../../../kernel/sharing/deliveries.ts';
import type { Post } from '../../../kernel/web/post.ts';
import { webhookHeaders } from '../../../kernel/web/webhook-headers.ts';
import type { PlanBook } from '../plan-book.ts';
import { addresseeOf, type ReceiverKind } from './addressee.ts';
import type { Notice, NoticeStore } from './notice-store.ts';
import { postNotice } from './post-notice.ts';

/** Sends to a receiver by its name; rejects with the reason when it did not arrive. `gone`: there is none any more. */
export type SendToReceiver = (receiver: string, notice: Notice) => Promise<'sent' | 'gone'>;

export interface DeliveryParts {
  store: NoticeStore;
  plans: () => PlanBook;
  clock: Clock;
  post: Post;
  send: Readonly<Record<ReceiverKind, SendToReceiver>>;
  /** For the operator's log; no secrets. */
  onTrouble(message: string, level?: 'info'): void;
}

/** Longer than a try takes: a process that dies in one leaves it to another after this. */
const leaseMs = 30_000;
/** Pauses between tries to write how one ended. */
const writePauses = { firstMs: 100, maxMs: 2_000 };
/** Maximum number of concurrent tries: eighteen receivers may hang before others wait. What waits is in the store. */
const atOnceMax = 64;
/** Maximum number of one receiver: while it hangs, those of others go out. */
const ofReceiverMax = 4;

/** Names of the messages to receivers, for the log. */
const nouns: Readonly<Record<ReceiverKind, string>> = { alerts: 'alerts', statement: 'statements' };

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

/** Posts queued notices until they are received or given up. */
export function createNoticeDelivery(parts: DeliveryParts): Deliveries {
  const { store, plans, clock, post, send, onTrouble } = parts;
  /** Plans and receivers whose newest try failed. */
  const failing = new Set<string>();

  async function deliver(notice: Notice, isStopped: () => boolean): Promise<void> {
    const to = addresseeOf(notice);
    const subject = to.kind === 'quota' ? `notices of plan ${to.plan}` : `${nouns[to.kind]} to ${to.receiver}`;
    let reason: string;
    try {
      const sent = to.kind === 'quota' ? await postOf(notice) : await send[to.kind](to.receiver, notice);
      if (sent === 'sent') {
        if (failing.delete(subject)) onTrouble(`${subject} arrive again`, 'info');
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

  return createDeliveries<Notice>({
    take(limit, without) {
      const nowMs = clock.wallMs();
      return store.due(nowMs, nowMs + leaseMs, limit, without);
    },
    receiverOf: ({ plan }) => plan,
    deliver,
    atOnceMax,
    ofReceiverMax,
    onTrouble: (error, notice) =>
      onTrouble(`${notice === null ? 'quota notices cannot be delivered' : `notice ${notice.id}`}: ${String(error)}`),
  });
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

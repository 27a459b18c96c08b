import { setTimeout as rest } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { signedHeaders } from './crawl-message.ts';
import type { CrawlStore, Hook } from './crawl-store.ts';

/** One POST through the guard; resolves to the answer's status, rejects when none came within `timeoutMs`. */
export type PostHook = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
) => Promise<number>;

/** Tells webhooks what is queued for them, until it is received or given up; what is queued survives the process. */
export interface HookDelivery {
  /** Resolves when what is due now is dealt with. Never rejects. */
  look(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface HookParts {
  store: Pick<CrawlStore, 'dueHooks' | 'hookDone' | 'hookLater'>;
  clock: Clock;
  post: PostHook;
  onTrouble(message: string): void;
}

const postTimeoutMs = 10_000;
/** Longer than a try takes. */
const leaseMs = 30_000;
const lookIntervalMs = 5_000;
const atOnceMax = 8;
const stopWaitMs = 1_000;
/** From a failed try to the next; then it is given up: pages are asked for by whoever missed them. */
const retryGapsMs = [5_000, 30_000, 120_000, 600_000];

export function createHookDelivery({ store, clock, post, onTrouble }: HookParts): HookDelivery {
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  let running: Promise<void> | null = null;
  let again = false;

  async function deliver(hook: Hook): Promise<void> {
    if (hook.webhook === null) return store.hookDone(hook.id);
    try {
      const headers = signedHeaders(hook.webhook, hook, clock.wallMs());
      const status = await post(hook.webhook.url, headers, hook.body, postTimeoutMs);
      if (status >= 200 && status <= 299) return store.hookDone(hook.id);
    } catch {
      // Why a stranger's server does not answer is nobody's trouble here.
    }
    const gapMs = retryGapsMs[hook.tries];
    if (gapMs === undefined) return store.hookDone(hook.id);
    return store.hookLater(hook.id, hook.tries + 1, clock.wallMs() + gapMs);
  }

  async function drain(): Promise<void> {
    try {
      while (again && !stopped) {
        again = false;
        const nowMs = clock.wallMs();
        const due = await store.dueHooks(nowMs, nowMs + leaseMs, atOnceMax);
        if (due.length === atOnceMax) again = true;
        await Promise.all(due.map(deliver));
      }
    } catch (error) {
      if (!stopped) onTrouble(`webhooks of crawls cannot be told: ${String(error)}`);
    }
  }

  async function look(): Promise<void> {
    if (stopped) return;
    again = true;
    running ??= drain().finally(() => {
      running = null;
      if (again && !stopped) void look();
    });
    await running;
  }

  return {
    look,
    start() {
      timer = setInterval(() => void look(), lookIntervalMs);
      timer.unref();
      void look();
    },
    async stop() {
      stopped = true;
      if (timer !== null) clearInterval(timer);
      await Promise.race([running, rest(stopWaitMs, undefined, { ref: false })]);
    },
  };
}

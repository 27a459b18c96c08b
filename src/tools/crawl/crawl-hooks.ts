import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { signedHeaders } from './crawl-message.ts';
import type { CrawlStore, Hook } from './crawl-store.ts';

/** One POST through the guard; resolves to the answer's status, rejects when none came within `timeoutMs`. */
export type PostHook = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
) => Promise<number>;

/** Sends queued webhooks until they are received or given up. The queue survives the process. */
export interface HookDelivery {
  /** Resolves when all due hooks are handled. Never rejects. */
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
const atOnceMax = 32;
/** Concurrent tries of one tenant: eight tenants with dead webhooks may exist before anybody waits for one. */
const tenantAtOnceMax = 4;
const stopWaitMs = 1_000;
/** Pauses after failed tries; then the hook is given up. A client that missed it can ask for the pages. */
const retryGapsMs = [5_000, 30_000, 120_000, 600_000];

/**
 * Tries run side by side, each tenant's in a separate batch: a tenant with a slow or dead webhook waits for it, and
 * others do not.
 */
export function createHookDelivery(parts: HookParts): HookDelivery {
  const { onTrouble } = parts;
  let stopLooking: (() => void) | null = null;
  let stopped = false;
  let running: Promise<void> | null = null;
  let again = false;
  /** Ends the wait for running deliveries. */
  let wake = Promise.withResolvers<void>();
  /** Running deliveries, by tenant. */
  const telling = new Map<string, Promise<void>>();
  let held = 0;

  async function post(tenant: string, hooks: readonly Hook[]): Promise<void> {
    held += hooks.length;
    try {
      await Promise.all(hooks.map((hook) => deliver(parts, hook)));
    } catch (error) {
      if (!stopped) onTrouble(`webhooks of crawls cannot be sent: ${String(error)}`);
    } finally {
      held -= hooks.length;
      telling.delete(tenant);
      // There may be more of this tenant, and there is room for others.
      again = true;
    }
  }

  async function drain(): Promise<void> {
    while (!stopped && (again || telling.size > 0)) {
      again = false;
      const limit = atOnceMax - held;
      if (limit > 0) {
        const due = await takeDue(parts, limit, [...telling.keys()]);
        for (const [tenant, hooks] of Map.groupBy(due, (hook) => hook.tenant)) telling.set(tenant, post(tenant, hooks));
      }
      if (again || telling.size === 0) continue;
      wake = Promise.withResolvers();
      await Promise.race([wake.promise, ...telling.values()]);
    }
  }

  async function look(): Promise<void> {
    if (stopped) return;
    again = true;
    wake.resolve();
    running ??= drain()
      .catch((error: unknown) => {
        again = false;
        if (!stopped) onTrouble(`webhooks of crawls cannot be sent: ${String(error)}`);
      })
      .finally(() => {
        running = null;
        if (again && !stopped) void look();
      });
    await running;
  }

  return {
    look,
    start() {
      stopLooking = every(lookIntervalMs, () => void look());
      void look();
    },
    async stop() {
      stopped = true;
      stopLooking?.();
      await withinMs(stopWaitMs, running, null);
    },
  };
}

/** Hooks that nobody else tries now, except those of tenants in `without`. */
function takeDue({ store, clock }: HookParts, limit: number, without: readonly string[]): Promise<readonly Hook[]> {
  const nowMs = clock.wallMs();
  return store.dueHooks(nowMs, nowMs + leaseMs, { limit, tenantMax: tenantAtOnceMax, without });
}

/** One try; where it fails, the hook is due again after its pause, or given up. */
async function deliver({ store, clock, post }: HookParts, hook: Hook): Promise<void> {
  if (hook.webhook === null) return store.hookDone(hook.id);
  try {
    const headers = signedHeaders(hook.webhook, hook, clock.wallMs());
    const status = await post(hook.webhook.url, headers, hook.body, postTimeoutMs);
    if (status >= 200 && status <= 299) return store.hookDone(hook.id);
  } catch {
    // A stranger's server that does not answer is not a problem of this server.
  }
  const gapMs = retryGapsMs[hook.tries];
  if (gapMs === undefined) return store.hookDone(hook.id);
  return store.hookLater(hook.id, hook.tries + 1, clock.wallMs() + gapMs);
}

import type { Clock } from '../../kernel/clock.ts';
import { createDeliveries, type Deliveries } from '../../kernel/sharing/deliveries.ts';
import type { Post } from '../../kernel/web/post.ts';
import { signedHeaders } from './crawl-message.ts';
import type { CrawlStore, Hook } from './crawl-store.ts';

export interface HookParts {
  store: Pick<CrawlStore, 'dueHooks' | 'hookDone' | 'hookLater'>;
  clock: Clock;
  /** Through the guard. */
  post: Post;
  onTrouble(message: string): void;
}

const postTimeoutMs = 10_000;
/** Longer than a try takes. */
const leaseMs = 30_000;
const atOnceMax = 32;
/** Concurrent tries of one tenant: eight tenants with dead webhooks may exist before anybody waits for one. */
const ofReceiverMax = 4;
/** Pauses after failed tries; then the hook is given up. A client that missed it can ask for the pages. */
const retryGapsMs = [5_000, 30_000, 120_000, 600_000];

/** Sends queued webhooks until they are received or given up. A tenant with a slow or dead webhook waits for it alone. */
export function createHookDelivery(parts: HookParts): Deliveries {
  const { store, clock, onTrouble } = parts;
  return createDeliveries<Hook>({
    take(limit, without) {
      const nowMs = clock.wallMs();
      return store.dueHooks(nowMs, nowMs + leaseMs, limit, without);
    },
    receiverOf: ({ tenant }) => tenant,
    deliver: (hook) => deliver(parts, hook),
    atOnceMax,
    ofReceiverMax,
    onTrouble: (error) => onTrouble(`webhooks of crawls cannot be sent: ${String(error)}`),
  });
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

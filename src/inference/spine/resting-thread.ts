import { createTurns } from '../../kernel/sharing/turns.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';

const idleMs = 60_000;
/** More than calls that may be under way: those bound it. */
const waitingMax = 16_384;

/**
 * A thread for work in bursts, with turns for tenants: an unused one costs some 40 MB, so it ends after `idleMs`.
 * `entry` is its file; `name` is for messages.
 */
export function createRestingThread(entry: URL, name: string) {
  const thread = createWorkThread(entry, name);
  const turns = createTurns({ name: `Orders of the ${name}`, places: 1, waitingMax });
  let running = 0;
  let idle: NodeJS.Timeout | null = null;
  const stopWaiting = () => {
    if (idle !== null) clearTimeout(idle);
  };
  return {
    async ask<T>(tenant: string, order: (id: number) => { message: object; transfer: ArrayBuffer[] }): Promise<T> {
      stopWaiting();
      running++;
      try {
        return await turns.run(tenant, null, () => thread.ask<T>(order));
      } finally {
        running--;
        if (running === 0) {
          idle = setTimeout(thread.letGo, idleMs);
          idle.unref();
        }
      }
    },
    async close(): Promise<void> {
      stopWaiting();
      await thread.close();
    },
  };
}

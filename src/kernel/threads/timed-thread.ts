import { backoffMs } from '../backoff.ts';
import { withinMs } from '../within-ms.ts';
import { createWorkThread, type WorkThreadOptions } from './work-thread.ts';

/** The thread's code posts a message without an `id` when it has loaded. */
export interface TimedThreadOptions extends Pick<WorkThreadOptions, 'resourceLimits'> {
  /** From the order, or from a message without an `id` by which the thread says that it has it in hand. */
  workMaxMs: number;
  /** Until such a message. Default: as `workMaxMs`. */
  startMaxMs?: number;
  /** How long an order waits for the thread to load. Default: as `startMaxMs`. */
  loadWaitMs?: number;
  /** How long it may load before it is ended and loaded again. */
  loadMaxMs?: number;
}

const idleMs = 60_000;
/** Loading takes a second on a busy machine, and much longer on one that has no processor left. */
const usualLoadMaxMs = 120_000;
/** After a thread that did not load. */
const loadPauses = { firstMs: 1_000, maxMs: 60_000 };

/**
 * A thread that does one thing at a time. It is ended with what takes too long, and after a minute without anything.
 * Loading its code is no work: an order that comes meanwhile may get null, while the thread loads on for the next.
 * `entry` is the thread's file: it answers as a `WorkThread` does. `name` is for messages.
 */
export function createTimedThread(entry: URL, name: string, options: TimedThreadOptions) {
  const { workMaxMs, startMaxMs = workMaxMs, loadWaitMs = startMaxMs, loadMaxMs, ...limits } = options;
  const thread = createWorkThread(entry, name, { ...limits, onMessage, onLost });
  let timer: NodeJS.Timeout | undefined;
  let loading: PromiseWithResolvers<boolean> | null = null;
  let isLoaded = false;
  let failures = 0;
  let notBeforeMs = 0;
  let closed = false;

  function rearm(ms: number, done: () => void): void {
    clearTimeout(timer);
    timer = setTimeout(done, ms);
    timer.unref();
  }

  function onMessage(): void {
    if (isLoaded) return rearm(workMaxMs, thread.kill);
    isLoaded = true;
    failures = 0;
    rearm(idleMs, thread.letGo);
    loading?.resolve(true);
  }

  function onLost(): void {
    clearTimeout(timer);
    if (loading !== null && !isLoaded) {
      notBeforeMs = performance.now() + backoffMs(++failures, loadPauses);
      loading.resolve(false);
    }
    loading = null;
    isLoaded = false;
  }

  /** Whether it has loaded in time. */
  async function load(): Promise<boolean> {
    if (isLoaded) return true;
    if (loading === null) {
      if (closed || performance.now() < notBeforeMs) return false;
      loading = Promise.withResolvers();
      thread.start();
      rearm(loadMaxMs ?? usualLoadMaxMs, thread.kill);
    }
    return withinMs(loadWaitMs, loading.promise, false);
  }

  return {
    /** One after the other. Null: it took too long, or the thread was lost, is closed or has not loaded in time. */
    async run<T>(order: object, transfer: ArrayBuffer[] = []): Promise<T | null> {
      if (!isLoaded && !(await load())) return null;
      rearm(startMaxMs, thread.kill);
      const result = await thread.ask<T>((id) => ({ message: { ...order, id }, transfer })).catch(() => null);
      if (isLoaded) rearm(idleMs, thread.letGo);
      return result;
    },
    async close(): Promise<void> {
      closed = true;
      await thread.close();
      clearTimeout(timer);
    },
  };
}

/** So many of them, for as many orders at a time: those that order take turns for them. */
export function createTimedThreads(places: number, entry: URL, name: string, options: TimedThreadOptions) {
  const all = Array.from({ length: places }, () => createTimedThread(entry, name, options));
  /** The one that was used last, which has its code and tables, at the end. */
  const idle = [...all];
  return {
    async run<T>(order: object, transfer?: ArrayBuffer[]): Promise<T | null> {
      const thread = idle.pop()!;
      try {
        return await thread.run<T>(order, transfer);
      } finally {
        idle.push(thread);
      }
    },
    async close(): Promise<void> {
      await Promise.all(all.map((thread) => thread.close()));
    },
  };
}

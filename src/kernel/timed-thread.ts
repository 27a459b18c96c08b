import { createWorkThread, type WorkThreadOptions } from './work-thread.ts';

/** A thread that does one thing at a time. It is ended with what takes too long, and after a minute without anything. */
export interface TimedThread {
  /** One after the other. Null: it took too long, or the thread was lost or is closed. */
  run<T>(order: object, transfer?: ArrayBuffer[]): Promise<T | null>;
  close(): Promise<void>;
}

export interface TimedThreadOptions extends Pick<WorkThreadOptions, 'resourceLimits'> {
  /** From the order, or from the message without an `id` by which the thread says that it has it in hand. */
  workMaxMs: number;
  /** Until such a message. Default: as `workMaxMs`. */
  startMaxMs?: number;
}

const idleMs = 60_000;

/** `entry` is the thread's own file: it answers as a `WorkThread` does. `name` is for messages. */
export function createTimedThread(entry: URL, name: string, options: TimedThreadOptions): TimedThread {
  const { workMaxMs, startMaxMs = workMaxMs, ...limits } = options;
  const thread = createWorkThread(entry, name, { ...limits, onTold: () => rearm(workMaxMs, thread.kill) });
  let timer: NodeJS.Timeout | undefined;

  function rearm(ms: number, done: () => void): void {
    clearTimeout(timer);
    timer = setTimeout(done, ms);
    timer.unref();
  }

  return {
    async run<T>(order: object, transfer: ArrayBuffer[] = []): Promise<T | null> {
      rearm(startMaxMs, thread.kill);
      const result = await thread.ask<T>((id) => ({ message: { ...order, id }, transfer })).catch(() => null);
      rearm(idleMs, thread.letGo);
      return result;
    },
    async close() {
      await thread.close();
      clearTimeout(timer);
    },
  };
}

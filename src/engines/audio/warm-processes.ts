import type { FfmpegProcess } from './ffmpeg-process.ts';

/** Processes that were started ahead and wait for their first input: they answer 50 ms sooner than a new one. */
export interface WarmProcesses {
  /** One that waits under this key, and no longer belongs to the pool; null: none. */
  take(key: string): FfmpegProcess | null;
  /** Makes sure that one waits under this key, for a while. */
  arm(key: string, start: () => FfmpegProcess): void;
  close(): Promise<void>;
}

/** At most `max` wait; the oldest one makes room. Each ends when nobody took it for `idleMs`. */
export function createWarmProcesses(limits: { max: number; idleMs: number }): WarmProcesses {
  const waiting = new Map<string, { process: FfmpegProcess; idle: NodeJS.Timeout }>();
  let closed = false;
  const remove = (key: string) => {
    const entry = waiting.get(key);
    if (entry === undefined) return null;
    waiting.delete(key);
    clearTimeout(entry.idle);
    return entry.process;
  };
  return {
    take(key) {
      const process = remove(key);
      return process === null || process.hasEnded() ? null : process;
    },
    arm(key, start) {
      if (closed || limits.max === 0) return;
      const there = waiting.get(key);
      if (there !== undefined && !there.process.hasEnded()) {
        there.idle.refresh();
        return;
      }
      remove(key);
      const oldest = waiting.size >= limits.max ? waiting.keys().next() : null;
      if (oldest !== null && !oldest.done) remove(oldest.value)?.kill();
      const process = start();
      const idle = setTimeout(() => remove(key)?.kill(), limits.idleMs);
      idle.unref();
      waiting.set(key, { process, idle });
    },
    async close() {
      closed = true;
      await Promise.all(
        [...waiting.keys()].map((key) => {
          const process = remove(key);
          process?.kill();
          return process?.ended;
        }),
      );
    },
  };
}

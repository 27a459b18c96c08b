import { Worker } from 'node:worker_threads';
import { lineWidth } from './line-width.ts';
import { lineState } from './progress-line.ts';

/** How a command's output was asked for. */
export interface PrintFlags {
  json?: boolean | undefined;
  quiet?: boolean | undefined;
}

/** Step that a command is at, for those who wait: on stderr, and only once the command has taken two seconds. */
export interface Progress {
  /** From now on this is done, such as `waiting for http://127.0.0.1:4141`. */
  at(what: string): void;
  /** So much of it is done: `12,345 rows`. May be called for each. */
  count(done: number, noun: string): void;
  /** Its line is gone when this returns. Whatever the command prints ends it too. */
  end(): void;
}

const reportIntervalMs = 200;
/** Before anything can be shown: most commands end earlier, and need no thread. */
const threadAfterMs = 1_500;

let current: Progress | null = null;

/** Begins a new line for what is printed now. */
export function endProgress(): void {
  current?.end();
}

/**
 * A live line on a terminal; elsewhere a line every few seconds; nothing with `--json` or `--quiet`. A thread writes it, so
 * that it moves while a database is read. `work`: one that blocks this thread has it started at once.
 */
export function createProgress(flags: PrintFlags, work: 'waits' | 'blocks'): Progress {
  if (flags.json === true || flags.quiet === true) return { at() {}, count() {}, end() {} };
  const state = new Int32Array(new SharedArrayBuffer(8));
  let thread: Worker | null = null;
  let text = '';
  let reportedMs = 0;
  const start = () => {
    const terminal = process.stderr.isTTY === true && process.env.TERM !== 'dumb';
    const workerData = {
      state,
      commandStartedMs: performance.timeOrigin,
      width: terminal ? lineWidth(process.stderr) : null,
    };
    thread = new Worker(new URL('./progress-thread.ts', import.meta.url), { workerData });
    thread.on('error', () => undefined);
    thread.unref();
    thread.postMessage(text);
  };
  const later = work === 'blocks' ? null : setTimeout(start, Math.max(0, threadAfterMs - performance.now())).unref();
  if (later === null) start();
  const report = (now: string) => {
    text = now;
    reportedMs = performance.now();
    thread?.postMessage(text);
  };
  const progress: Progress = {
    at: report,
    count(done, noun) {
      if (performance.now() - reportedMs >= reportIntervalMs) report(`${done.toLocaleString('en')} ${noun}`);
    },
    end() {
      if (later !== null) clearTimeout(later);
      // Not while it writes, which takes microseconds.
      while (Atomics.compareExchange(state, 0, lineState.idle, lineState.over) === lineState.writing)
        Atomics.wait(state, 0, lineState.writing, 1);
      if (Atomics.exchange(state, 1, 0) === 1) process.stderr.write('\r\u001b[K');
      void thread?.terminate();
      if (current === progress) current = null;
    },
  };
  current = progress;
  return progress;
}

/** Tells what is waited for while `work` goes on. */
export async function whileWaiting<T>(flags: PrintFlags, what: string, work: Promise<T>): Promise<T> {
  const progress = createProgress(flags, 'waits');
  progress.at(what);
  try {
    return await work;
  } finally {
    progress.end();
  }
}

export function inMb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

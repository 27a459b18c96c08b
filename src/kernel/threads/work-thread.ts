import { type ResourceLimits, Worker } from 'node:worker_threads';
import { BriefMap } from '../brief.ts';
import { type Failure, FailureError } from '../failure.ts';
import { withLargeYoungGeneration } from './young-generation.ts';

interface Waiting {
  resolve(result: never): void;
  reject(error: Error): void;
}

interface Answered {
  result?: never;
  error?: string;
  failure?: Failure;
}

/** The thread ended, by a crash or because it was ended, before it answered. */
export class ThreadLost extends Error {}

/** One worker thread that answers orders, started at the first of them. A crash fails the orders it had alone. */
export interface WorkThread {
  /** Sends `order(id)`; the thread answers once, with `{ id, result }`, `{ id, error }` or `{ id, failure }`. Rejects when it cannot. */
  ask<T>(order: (id: number) => { message: object; transfer: ArrayBuffer[] }): Promise<T>;
  /** Starts the thread before its first order; nothing happens where it runs, or when it is closed. */
  start(): void;
  /** Without an answer; nothing happens where no thread runs. */
  post(message: object): void;
  /** Ends the thread unless something is asked; the next order starts another one. */
  letGo(): void;
  /** Ends the thread with what it is asked, which rejects; the next order starts another one. */
  kill(): void;
  /** The same as `kill`, and later requests reject. Resolves when the thread is gone. */
  close(): Promise<void>;
}

export interface WorkThreadOptions {
  workerData?: unknown;
  resourceLimits?: ResourceLimits;
  /** `usual`: it reads no bodies or pages. */
  heap?: 'usual';
  /** Called for messages that answer no order. */
  onMessage?(): void;
  /** The thread has ended, or is being ended; what it was asked has been rejected. */
  onLost?(): void;
}

/** `entry` is the thread's own file; `name` is for messages. */
export function createWorkThread(entry: URL, name: string, options: WorkThreadOptions = {}): WorkThread {
  const { onMessage, onLost, heap, ...workerOptions } = options;
  const waiting = new BriefMap<Waiting>();
  let worker: Worker | null = null;
  let lastId = 0;
  let closed = false;

  function running(): Worker {
    if (worker !== null) return worker;
    const start = () => new Worker(entry, workerOptions);
    const started = heap === 'usual' ? start() : withLargeYoungGeneration(start);
    started.on('message', (message: Answered & { id?: number }) => {
      if (message.id === undefined) {
        // One that is being ended says nothing of its successor.
        if (worker === started) onMessage?.();
        return;
      }
      settle(waiting, message.id, message);
      if (waiting.size === 0) started.unref();
    });
    const lost = (error: Error) => {
      // What waits now waits for its successor.
      if (worker === started) forget(error);
    };
    started.on('error', (error) => lost(new ThreadLost(`the ${name} failed: ${error.message}`, { cause: error })));
    started.on('exit', () => lost(new ThreadLost(`the ${name} ended`)));
    started.unref();
    worker = started;
    return started;
  }

  /** Forgotten at once, since it takes a while to end and would drop what it is still given. */
  function forget(error: Error): Worker | null {
    const ended = worker;
    worker = null;
    for (const order of waiting.values()) order.reject(error);
    waiting.clear();
    if (ended !== null) onLost?.();
    return ended;
  }

  const kill = () => forget(new ThreadLost(`the ${name} was ended`))?.terminate();

  return {
    ask<T>(order: (id: number) => { message: object; transfer: ArrayBuffer[] }): Promise<T> {
      if (closed) return Promise.reject(new Error(`the ${name} is closed`));
      const id = ++lastId;
      const { message, transfer } = order(id);
      return new Promise<T>((resolve, reject) => {
        waiting.set(String(id), { resolve: resolve as Waiting['resolve'], reject });
        const thread = running();
        // A waiting caller must get the answer before the process ends.
        thread.ref();
        thread.postMessage(message, transfer);
      });
    },
    start() {
      if (!closed) running();
    },
    post: (message) => worker?.postMessage(message),
    letGo() {
      if (waiting.size === 0) void kill();
    },
    kill: () => void kill(),
    async close() {
      closed = true;
      await kill();
    },
  };
}

function settle(waiting: BriefMap<Waiting>, id: number, { result, error, failure }: Answered): void {
  const order = waiting.take(String(id));
  if (failure !== undefined) order?.reject(new FailureError(failure));
  else if (error !== undefined) order?.reject(new Error(error.replace(/^Error: /, '')));
  else order?.resolve(result as never);
}

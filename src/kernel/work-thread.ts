import { Worker } from 'node:worker_threads';
import { withLargeYoungGeneration } from './young-generation.ts';

interface Waiting {
  resolve(result: never): void;
  reject(error: Error): void;
}

/** One worker thread that answers orders, started at the first of them. A crash fails the orders it had alone. */
export interface WorkThread {
  /** Sends `order(id)`; the thread answers once, with `{ id, result }` or `{ id, error }`. Rejects when it cannot. */
  ask<T>(order: (id: number) => { message: object; transfer: ArrayBuffer[] }): Promise<T>;
  /** Without an answer; nothing happens where no thread runs. */
  tell(message: object): void;
  /** Ends the thread; the next order starts another one. Only while nothing is asked. */
  letGo(): void;
  close(): Promise<void>;
}

/** `entry` is the thread's own file, `workerData` what it is given; `name` is for messages. */
export function createWorkThread(entry: URL, name: string, workerData: unknown = null): WorkThread {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let lastId = 0;

  function running(): Worker {
    if (worker !== null) return worker;
    const started = withLargeYoungGeneration(() => new Worker(entry, { workerData }));
    started.on('message', (message: { id: number; result?: never; error?: string }) => {
      const order = waiting.get(message.id);
      waiting.delete(message.id);
      if (waiting.size === 0) started.unref();
      if (message.error !== undefined) order?.reject(new Error(message.error));
      else order?.resolve(message.result!);
    });
    const lost = (error: Error) => {
      // One that was let go had nothing left to do: what waits now waits for its successor.
      if (worker !== started) return;
      worker = null;
      for (const order of waiting.values()) order.reject(error);
      waiting.clear();
    };
    started.on('error', lost);
    started.on('exit', () => lost(new Error(`the ${name} ended`)));
    started.unref();
    worker = started;
    return started;
  }

  return {
    ask<T>(order: (id: number) => { message: object; transfer: ArrayBuffer[] }): Promise<T> {
      const id = ++lastId;
      const { message, transfer } = order(id);
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
        const thread = running();
        // Whoever waits must get it before the process ends.
        thread.ref();
        thread.postMessage(message, transfer);
      });
    },
    tell: (message) => worker?.postMessage(message),
    letGo() {
      // Forgotten at once, since it takes a while to end and would drop what it is still given.
      void worker?.terminate();
      worker = null;
    },
    async close() {
      await worker?.terminate();
    },
  };
}

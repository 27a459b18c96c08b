import { Worker } from 'node:worker_threads';
import { BriefMap } from '../kernel/brief.ts';
import type { Clock } from '../kernel/clock.ts';
import { FailureError } from '../kernel/failure.ts';
import { withLargeYoungGeneration } from '../kernel/threads/young-generation.ts';
import { withinMs } from '../kernel/within-ms.ts';
import { type FromWorker, interrupted, type ToWorker, type WorkerData } from './worker-messages.ts';

/** A thread that dies as soon as it starts is not started more often than this. */
const restartAfterMs = 1_000;

/** Its present work may take this long once it is to close; acknowledged writes are on the disk either way. */
const closeTimeoutMs = 10_000;

/** The main side of one thread: started when it is first asked, and again when it has died, until it is closed. */
export type WorkerThread = ReturnType<typeof createWorkerThread>;

/** A message that gets an answer; its id is given here. */
export type WorkerRequest = WithoutId<Extract<ToWorker, { kind: 'prepare' | 'run' | 'rank' | 'store' | 'close' }>>;
type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never;

export interface WorkerThreadOptions {
  data(): { workerData: WorkerData; transfer: readonly object[] };
  /** Messages that are not answers. `ready` comes here, too. */
  onMessage(message: FromWorker): void;
  /** Not again for a known reason, until it has been ready in between. */
  onDeath(reason: string): void;
  clock: Clock;
  /** Another thread's code, in tests. */
  entry?: URL;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: FailureError): void;
}

export function createWorkerThread(options: WorkerThreadOptions) {
  const waiting = new BriefMap<Waiting>();
  let worker: Worker | null = null;
  let ready: PromiseWithResolvers<void> | null = null;
  let startedMs = Number.NEGATIVE_INFINITY;
  let deathReason: string | null = null;
  let lastId = 0;
  let isClosed = false;

  function start(): Worker {
    const nowMs = options.clock.monotonicMs();
    if (isClosed || (deathReason !== null && nowMs - startedMs < restartAfterMs)) throw died();
    startedMs = nowMs;
    const { workerData, transfer } = options.data();
    const entry = options.entry ?? new URL('./vector-worker.ts', import.meta.url);
    const started = withLargeYoungGeneration(() => new Worker(entry, { workerData, transferList: transfer as never }));
    const loaded = Promise.withResolvers<void>();
    loaded.promise.catch(() => {});
    ready = loaded;
    let reason = 'it ended';
    started.on('message', (message: FromWorker) => {
      if (message.kind === 'done' || message.kind === 'failed') return answered(message);
      options.onMessage(message);
      if (message.kind !== 'ready') return;
      deathReason = null;
      loaded.resolve();
    });
    started.on('error', (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    started.on('exit', () => {
      if (worker !== started) return;
      worker = null;
      ready = null;
      const known = deathReason === reason;
      deathReason = reason;
      loaded.reject(died());
      failWaiting();
      if (!known) options.onDeath(reason);
    });
    started.unref();
    worker = started;
    return started;
  }

  function failWaiting(): void {
    for (const { reject } of waiting.values()) reject(died());
    waiting.clear();
  }

  function answered(message: Extract<FromWorker, { kind: 'done' | 'failed' }>): void {
    const asker = waiting.take(String(message.id));
    // Pending calls keep the process alive; a thread that nobody waits for does not.
    if (waiting.size === 0) worker?.unref();
    if (message.kind === 'done') asker?.resolve(message.result);
    else asker?.reject(new FailureError(message.failure));
  }

  return {
    /** Rejects with a FailureError: the store's, or a 503 when the thread died. */
    async ask<T>(message: WorkerRequest, transfer: ArrayBuffer[] = []): Promise<T> {
      const running = worker ?? start();
      const id = ++lastId;
      return new Promise<T>((resolve, reject) => {
        waiting.set(String(id), { resolve: resolve as Waiting['resolve'], reject });
        running.ref();
        running.postMessage({ ...message, id }, transfer);
      });
    },
    post: (message: ToWorker): void => worker?.postMessage(message),
    /** Starts it, and resolves when it has reported its contents; rejects with a 503. */
    async ready(): Promise<void> {
      if (worker === null) start();
      await ready?.promise;
    },
    /** Why it is not running although it should; null when it is, or was not asked for. */
    trouble: (): string | null => (worker === null ? deathReason : null),
    started: (): boolean => worker !== null,
    async close(): Promise<void> {
      isClosed = true;
      const closing = worker;
      if (closing === null) return;
      await withinMs(
        closeTimeoutMs,
        this.ask({ kind: 'close' }).catch(() => {}),
        null,
      );
      worker = null;
      await closing.terminate();
      failWaiting();
    },
  };

  function died(): FailureError {
    return new FailureError(interrupted);
  }
}

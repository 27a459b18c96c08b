import type { Worker } from 'node:worker_threads';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { createTurns, type Turn } from '../../kernel/sharing/turns.ts';
import type { ExtractOrder, ExtractOutcome } from './extract-order.ts';
import { ExtractThread, workerCpuMs } from './extract-thread.ts';

/** Threads that read pages; each is killed when a page takes too long in it. */
export type ExtractPool = ReturnType<typeof createExtractPool>;

export interface ExtractPoolOptions {
  /** Concurrent threads; more where pages hold theirs for long, up to twice as many and one. */
  threads: number;
  /** Time of the processor: a page that takes more is given up as `unfit`, with its thread. */
  killMs: number;
  /** Default: the operating system's count. */
  cpuMsOf?: (thread: Worker) => Promise<number>;
  /** For the operator's log: a fault of ours. */
  onTrouble(message: string): void;
}

/** One tenant may have half. */
const waitingMax = 512;
const waitingBytesMax = 128 * 1024 * 1024;

export function createExtractPool(options: ExtractPoolOptions) {
  const { threads: threadsMax, killMs, cpuMsOf = workerCpuMs, onTrouble } = options;
  const threads = new Set<ExtractThread>();
  /** Each has its turn, and takes the next thread that is ready. */
  const takers: ((thread: ExtractThread) => void)[] = [];
  const closing = new AbortController();

  const turns = createTurns({
    name: 'Pages to read',
    // One more than a tenant may have, so that two bad pages of one leave another its thread.
    places: () =>
      threadsMax +
      Math.min(
        threadsMax + 1,
        jobsWhere(({ pace }) => pace !== 'quick'),
      ),
    tenantPlaces: 2 * threadsMax,
    waitingMax,
    waitingBytesMax,
    mayTake: (asking) => jobsWhere(({ tenant, pace }) => tenant === asking && pace !== 'late') < threadsMax,
  });

  function jobsWhere(holds: (thread: ExtractThread) => boolean): number {
    let jobs = 0;
    for (const thread of threads) if (thread.tenant !== null && holds(thread)) jobs += 1;
    return jobs;
  }

  function start(): void {
    const thread = new ExtractThread({
      onReady: serve,
      onPace: () => turns.look(),
      onLost(lost) {
        threads.delete(lost);
        serve();
      },
      onTrouble,
      cpuMsOf,
    });
    threads.add(thread);
  }

  /** Gives ready threads to pages whose turn it is, and starts missing ones. */
  function serve(): void {
    for (const thread of threads) {
      if (takers.length === 0) return;
      if (thread.state !== 'idle') continue;
      thread.state = 'taken';
      takers.shift()?.(thread);
    }
    let starting = 0;
    for (const { state } of threads) if (state === 'starting') starting += 1;
    for (; starting < takers.length && !closing.signal.aborted; starting += 1) start();
  }

  /** Rejects when nobody waits any more. */
  function freeThread(signal: AbortSignal): Promise<ExtractThread> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = () => {
        takers.splice(takers.indexOf(taken), 1);
        reject(signal.reason);
      };
      const taken = (thread: ExtractThread) => {
        signal.removeEventListener('abort', leave);
        resolve(thread);
      };
      signal.addEventListener('abort', leave, { once: true });
      takers.push(taken);
      serve();
    });
  }

  return {
    /**
     * Never rejects. `timeoutMs` counts from the call: a page that has waited so long for a thread is `busy`, and one
     * that is not read by then is `late`. Tenants with waiting pages get threads in turn.
     */
    async extract(
      tenant: string,
      order: Omit<ExtractOrder, 'id'>,
      timeoutMs: number,
      signal: AbortSignal,
    ): Promise<ExtractOutcome> {
      const stopped = AbortSignal.any([signal, closing.signal]);
      if (stopped.aborted) return nobody;
      const endMs = performance.now() + timeoutMs;
      const waiting = AbortSignal.any([stopped, AbortSignal.timeout(Math.ceil(timeoutMs))]);
      let turn: Turn | null = null;
      try {
        turn = await turns.take(tenant, waiting, order.body.byteLength);
        const thread = await freeThread(waiting);
        const leftMs = Math.max(0, endMs - performance.now());
        if (!stopped.aborted) return await thread.run(tenant, order, { cpuMs: killMs, timeoutMs: leftMs }, stopped);
        thread.rest(nobody);
        return nobody;
      } catch (error) {
        if (stopped.aborted) return nobody;
        return { kind: 'busy', failure: error instanceof FailureError ? error.failure : waitedTooLong };
      } finally {
        turn?.giveBack();
      }
    },
    async close(): Promise<void> {
      closing.abort();
      await Promise.all([...threads].map((thread) => thread.close()));
    },
  };
}

const nobody: ExtractOutcome = { kind: 'aborted', begun: false };
const waitedTooLong: Failure = {
  kind: 'overloaded',
  message: 'The page waited too long for its turn to be read, because others are being read. Retry shortly.',
};

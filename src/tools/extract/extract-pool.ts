import { Worker } from 'node:worker_threads';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { createTurns, type Turn } from '../../kernel/sharing/turns.ts';
import { withLargeYoungGeneration } from '../../kernel/young-generation.ts';
import type { Extracted, ExtractOrder, ExtractReply } from './extract-order.ts';

/** Threads that read pages; each is killed when a page takes too long in it. */
export interface ExtractPool {
  /**
   * Never rejects. `timeoutMs` counts from the moment at which a thread begins; who has waited for one as long, and for
   * the end of one page more, is `busy`. Threads are given in turn to the tenants whose pages wait.
   */
  extract(
    tenant: string,
    order: Omit<ExtractOrder, 'id'>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ExtractOutcome>;
  close(): Promise<void>;
}

export type ExtractOutcome =
  | { kind: 'extracted'; extracted: Extracted }
  | { kind: 'wrong'; field: 'includeTags' | 'excludeTags'; message: string }
  /** `killed`: it took too long, or all the memory of its thread. In words, of the page. */
  | { kind: 'unfit'; why: string; killed: boolean }
  | { kind: 'busy'; failure: Failure }
  /** `begun`: a thread was at it. */
  | { kind: 'aborted'; begun: boolean };

export interface ExtractPoolOptions {
  /** At work at one time; more where pages hold theirs for long, up to twice as many and one. */
  threads: number;
  /** A page that takes longer is given up, with its thread. */
  killMs: number;
  /** For the operator's log: a fault of ours. */
  onTrouble(message: string): void;
}

const heapMbMax = 256;
/** Of one tenant half. */
const waitingMax = 512;
const waitingBytesMax = 128 * 1024 * 1024;
/** A page that takes longer makes room for one of another tenant. */
const slowMs = 250;
/** Longer than pages take: one that does may hang its thread, and makes room for one of its own tenant. */
const lateMs = 1_000;
/** A thread takes some 40 MB: unused, it is let go. */
const idleMs = 60_000;

interface Job {
  tenant: string;
  settle(outcome: ExtractOutcome): void;
}

interface Thread {
  worker: Worker;
  state: 'starting' | 'idle' | 'taken';
  job: Job | null;
  /** The job's end, or the idle thread's. */
  timer: NodeJS.Timeout | null;
  /** Until its job is slow, then until it is late. */
  paceTimer: NodeJS.Timeout | null;
  pace: 'quick' | 'slow' | 'late';
}

export function createExtractPool({ threads: threadsMax, killMs, onTrouble }: ExtractPoolOptions): ExtractPool {
  const threads = new Set<Thread>();
  /** Each has its turn, and takes the next thread that is ready. */
  const takers: ((thread: Thread) => void)[] = [];
  const closing = new AbortController();
  let lastId = 0;

  const turns = createTurns({
    name: 'Pages to be read',
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
    mayTake: (tenant) => jobsWhere(({ job, pace }) => job!.tenant === tenant && pace !== 'late') < threadsMax,
  });

  function jobsWhere(holds: (thread: Thread) => boolean): number {
    let jobs = 0;
    for (const thread of threads) if (thread.job !== null && holds(thread)) jobs += 1;
    return jobs;
  }

  function start(): void {
    const entry = new URL('./extract-worker.ts', import.meta.url);
    const options = {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      // What libraries say of broken pages is nobody's business.
      stdout: true,
      stderr: true,
    };
    const worker = withLargeYoungGeneration(() => new Worker(entry, options));
    const thread: Thread = { worker, state: 'starting', job: null, timer: null, paceTimer: null, pace: 'quick' };
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', (message: ExtractReply | { ready: true }) => {
      if ('ready' in message) thread.state = 'idle';
      else end(thread, outcomeOf(message));
      serve();
    });
    worker.on('error', (error: Error & { code?: string }) => {
      const spent = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!spent) onTrouble(`a thread that reads pages broke: ${error.message}`);
      lose(thread, spent ? 'it takes too much memory to read' : 'it cannot be read');
    });
    worker.on('exit', () => lose(thread, 'it cannot be read'));
    worker.unref();
    threads.add(thread);
  }

  function outcomeOf(reply: ExtractReply): ExtractOutcome {
    if ('extracted' in reply) return { kind: 'extracted', extracted: reply.extracted };
    if ('wrong' in reply) return { kind: 'wrong', ...reply.wrong };
    if ('unfit' in reply) return { kind: 'unfit', why: reply.unfit, killed: false };
    return { kind: 'unfit', why: 'it cannot be read', killed: false };
  }

  /** The job that ran in it; null: none did. */
  function takeJob(thread: Thread): Job | null {
    if (thread.timer !== null) clearTimeout(thread.timer);
    if (thread.paceTimer !== null) clearTimeout(thread.paceTimer);
    const { job } = thread;
    thread.job = null;
    thread.pace = 'quick';
    return job;
  }

  function end(thread: Thread, outcome: ExtractOutcome): void {
    const job = takeJob(thread);
    job?.settle(outcome);
    thread.state = 'idle';
    thread.worker.unref();
    thread.timer = setTimeout(() => lose(thread, ''), idleMs);
    thread.timer.unref();
  }

  /** Forgets the thread and ends it, with what runs in it. */
  function lose(thread: Thread, why: string): void {
    if (!threads.delete(thread)) return;
    const job = takeJob(thread);
    void thread.worker.terminate();
    job?.settle({ kind: 'unfit', why, killed: true });
    serve();
  }

  /** Gives ready threads to those that have their turn, and starts what is lacking. */
  function serve(): void {
    for (const thread of threads) {
      if (takers.length === 0) return;
      if (thread.state !== 'idle') continue;
      thread.state = 'taken';
      takers.shift()!(thread);
    }
    let starting = 0;
    for (const { state } of threads) if (state === 'starting') starting += 1;
    for (; starting < takers.length && !closing.signal.aborted; starting += 1) start();
  }

  /** Rejects when nobody waits any more. */
  function freeThread(signal: AbortSignal): Promise<Thread> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const gone = () => {
        takers.splice(takers.indexOf(taken), 1);
        reject(signal.reason);
      };
      const taken = (thread: Thread) => {
        signal.removeEventListener('abort', gone);
        resolve(thread);
      };
      signal.addEventListener('abort', gone, { once: true });
      takers.push(taken);
      serve();
    });
  }

  function run(
    thread: Thread,
    tenant: string,
    order: Omit<ExtractOrder, 'id'>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ExtractOutcome> {
    return new Promise((resolve) => {
      // What nobody waits for is not read to its end.
      const leave = () => lose(thread, '');
      const job: Job = {
        tenant,
        settle(outcome) {
          signal.removeEventListener('abort', leave);
          resolve(signal.aborted ? { kind: 'aborted', begun: true } : outcome);
        },
      };
      if (thread.timer !== null) clearTimeout(thread.timer);
      thread.job = job;
      thread.worker.ref();
      thread.timer = setTimeout(
        () => lose(thread, 'it takes too long to read'),
        Math.max(1, Math.min(killMs, timeoutMs)),
      );
      thread.paceTimer = setTimeout(() => becomeSlow(thread), slowMs);
      signal.addEventListener('abort', leave, { once: true });
      // Copied, not moved: the plain way may need it again.
      thread.worker.postMessage({ ...order, id: ++lastId } satisfies ExtractOrder);
    });
  }

  function becomeSlow(thread: Thread): void {
    thread.pace = 'slow';
    turns.look();
    thread.paceTimer = setTimeout(() => {
      thread.pace = 'late';
      turns.look();
    }, lateMs - slowMs);
  }

  return {
    async extract(tenant, order, timeoutMs, signal) {
      const gone = AbortSignal.any([signal, closing.signal]);
      if (gone.aborted) return nobody;
      // Pages that hang their reader one after the other hold up nobody for ever.
      const waiting = AbortSignal.any([gone, AbortSignal.timeout(Math.ceil(timeoutMs + killMs))]);
      let turn: Turn | null = null;
      try {
        turn = await turns.take(tenant, waiting, order.body.byteLength);
        const thread = await freeThread(waiting);
        if (!gone.aborted) return await run(thread, tenant, order, timeoutMs, gone);
        end(thread, nobody);
        return nobody;
      } catch (error) {
        if (gone.aborted) return nobody;
        return { kind: 'busy', failure: error instanceof FailureError ? error.failure : waitedTooLong };
      } finally {
        turn?.giveBack();
      }
    },
    async close() {
      closing.abort();
      const all = [...threads];
      for (const thread of all) lose(thread, 'the server is closing');
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}

const nobody: ExtractOutcome = { kind: 'aborted', begun: false };
const waitedTooLong: Failure = {
  kind: 'overloaded',
  message: 'The page waited for its turn to be read for as long as it may: others are being read. Retry shortly.',
};

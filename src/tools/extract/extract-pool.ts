import { Worker } from 'node:worker_threads';
import { withLargeYoungGeneration } from '../../kernel/young-generation.ts';
import type { Extracted, ExtractOrder, ExtractReply } from './extract-order.ts';

/** Threads that read pages; each is killed when a page takes too long in it. */
export interface ExtractPool {
  /**
   * Never rejects. `timeoutMs` counts from the moment at which a thread begins; who has waited for one as long, and for
   * the end of one page more, is `busy`.
   */
  extract(order: Omit<ExtractOrder, 'id'>, timeoutMs: number, signal: AbortSignal): Promise<ExtractOutcome>;
  close(): Promise<void>;
}

export type ExtractOutcome =
  | { kind: 'extracted'; extracted: Extracted }
  | { kind: 'wrong'; field: 'includeTags' | 'excludeTags'; message: string }
  /** `killed`: it took too long, or all the memory of its thread. In words, of the page. */
  | { kind: 'unfit'; why: string; killed: boolean }
  | { kind: 'busy' }
  | { kind: 'aborted' };

export interface ExtractPoolOptions {
  /** At work at one time; one more for each of them that a page has held for a second, at most as many again. */
  threads: number;
  /** A page that takes longer is given up, with its thread. */
  killMs: number;
  /** For the operator's log: a fault of ours. */
  onTrouble(message: string): void;
}

const heapMbMax = 256;
const waitingMax = 256;
const waitingBytesMax = 128 * 1024 * 1024;
/** Longer than pages take: one that does may hang its thread. */
const lateMs = 1_000;
/** A thread takes some 40 MB: unused, it is let go. */
const idleMs = 60_000;

interface Job {
  order: Omit<ExtractOrder, 'id'>;
  timeoutMs: number;
  waitTimer: NodeJS.Timeout;
  settle(outcome: ExtractOutcome): void;
}

interface Thread {
  worker: Worker;
  ready: boolean;
  job: Job | null;
  /** The job's end, or the idle thread's. */
  timer: NodeJS.Timeout | null;
  /** Until its job is late. */
  lateTimer: NodeJS.Timeout | null;
  late: boolean;
}

export function createExtractPool({ threads: threadsMax, killMs, onTrouble }: ExtractPoolOptions): ExtractPool {
  const threads = new Set<Thread>();
  const waiting: Job[] = [];
  let waitingBytes = 0;
  let lastId = 0;
  let closed = false;

  function start(): Thread {
    const entry = new URL('./extract-worker.mjs', import.meta.url);
    const options = {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      // What libraries say of broken pages is nobody's business.
      stdout: true,
      stderr: true,
    };
    const worker = withLargeYoungGeneration(() => new Worker(entry, options));
    const thread: Thread = { worker, ready: false, job: null, timer: null, lateTimer: null, late: false };
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', (message: ExtractReply | { ready: true }) => {
      if ('ready' in message) thread.ready = true;
      else end(thread, outcomeOf(message));
      next();
    });
    worker.on('error', (error: Error & { code?: string }) => {
      const spent = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!spent) onTrouble(`a thread that reads pages broke: ${error.message}`);
      lose(thread, spent ? 'it takes too much memory to read' : 'it cannot be read');
    });
    worker.on('exit', () => lose(thread, 'it cannot be read'));
    worker.unref();
    threads.add(thread);
    return thread;
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
    if (thread.lateTimer !== null) clearTimeout(thread.lateTimer);
    const { job } = thread;
    thread.job = null;
    thread.late = false;
    return job;
  }

  function end(thread: Thread, outcome: ExtractOutcome): void {
    const job = takeJob(thread);
    job?.settle(outcome);
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
    next();
  }

  function next(): void {
    while (waiting.length > 0 && !closed) {
      const running = [...threads].filter(({ job, late }) => job !== null && !late).length;
      if (running >= threadsMax) return;
      const free = [...threads].find(({ ready, job }) => ready && job === null);
      if (free === undefined) {
        const starting = [...threads].filter(({ ready }) => !ready).length;
        const late = [...threads].filter((thread) => thread.late).length;
        if (threads.size < threadsMax + Math.min(late, threadsMax) && starting < waiting.length) start();
        return;
      }
      run(free, waiting.shift()!);
    }
  }

  function run(thread: Thread, job: Job): void {
    waitingBytes -= job.order.body.byteLength;
    clearTimeout(job.waitTimer);
    if (thread.timer !== null) clearTimeout(thread.timer);
    thread.job = job;
    thread.worker.ref();
    const limitMs = Math.max(1, Math.min(killMs, job.timeoutMs));
    thread.timer = setTimeout(() => lose(thread, 'it takes too long to read'), limitMs);
    thread.lateTimer = setTimeout(() => {
      thread.late = true;
      next();
    }, lateMs);
    const { body } = job.order;
    // Copied, not moved: the plain way may need it again.
    thread.worker.postMessage({ ...job.order, body, id: ++lastId } satisfies ExtractOrder);
  }

  return {
    extract(order, timeoutMs, signal) {
      const bytes = order.body.byteLength;
      if (closed || signal.aborted) return Promise.resolve({ kind: 'aborted' });
      if (waiting.length >= waitingMax || (waiting.length > 0 && waitingBytes + bytes > waitingBytesMax)) {
        return Promise.resolve({ kind: 'busy' });
      }
      return new Promise((resolve) => {
        const giveUpWaiting = (outcome: ExtractOutcome) => {
          const at = waiting.indexOf(job);
          if (at === -1) return false;
          waiting.splice(at, 1);
          waitingBytes -= bytes;
          job.settle(outcome);
          return true;
        };
        const leave = () => {
          if (giveUpWaiting({ kind: 'aborted' })) return;
          // What nobody waits for is not read to its end.
          for (const thread of threads) if (thread.job === job) lose(thread, '');
        };
        const job: Job = {
          order,
          timeoutMs,
          // Pages that hang their reader one after the other hold up nobody for ever.
          waitTimer: setTimeout(() => giveUpWaiting({ kind: 'busy' }), timeoutMs + killMs),
          settle(outcome) {
            clearTimeout(job.waitTimer);
            signal.removeEventListener('abort', leave);
            resolve(signal.aborted ? { kind: 'aborted' } : outcome);
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        waiting.push(job);
        waitingBytes += bytes;
        next();
      });
    },
    async close() {
      closed = true;
      for (const job of waiting.splice(0)) job.settle({ kind: 'aborted' });
      const all = [...threads];
      for (const thread of all) lose(thread, 'the server is closing');
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}

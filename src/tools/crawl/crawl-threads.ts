import { Worker } from 'node:worker_threads';
import { createTurns } from '../../kernel/sharing/turns.ts';
import type { CrawlJobName, CrawlThreadEnd, CrawlThreadJob, CrawlWork } from './crawl-worker.ts';

/**
 * Work of crawls that strangers' patterns and files decide the length of, in threads that are killed and begun anew.
 * They go round the tenants that wait; one tenant has one of them at a time.
 */
export interface CrawlThreads {
  /** Null: it took too long, or more memory than it may. Rejects (503) when too much waits. */
  ask<Name extends CrawlJobName>(
    tenant: string,
    job: Name,
    asked: CrawlWork[Name]['asked'],
  ): Promise<CrawlWork[Name]['answer'] | null>;
  close(): Promise<void>;
}

/** From the moment a thread has it in hand. What crawls ask takes some ms. */
const workMaxDefaultMs = 2_000;
const threadsMax = 2;
/** Each belongs to a page that is being read, or to a call; those are bounded elsewhere, and lower. */
const waitingMax = 4_096;

export function createCrawlThreads({ workMaxMs = workMaxDefaultMs } = {}): CrawlThreads {
  const idle: CrawlThread[] = Array.from({ length: threadsMax }, () => createThread(workMaxMs));
  const all = [...idle];
  const turns = createTurns({ name: 'Patterns and sitemaps of crawls', places: threadsMax, waitingMax });
  return {
    ask: (tenant, job, asked) =>
      turns.run(tenant, null, async () => {
        const thread = idle.pop()!;
        try {
          const answer = await thread.run({ job, ...asked } as CrawlThreadJob);
          return answer as CrawlWork[typeof job]['answer'] | null;
        } finally {
          idle.push(thread);
        }
      }),
    async close() {
      await Promise.all(all.map((thread) => thread.close()));
    },
  };
}

const heapMaxMb = 128;
/** An idle thread is let go: most servers never crawl. */
const idleMs = 60_000;

interface CrawlThread {
  /** One after the other. */
  run(job: CrawlThreadJob): Promise<CrawlWork[CrawlJobName]['answer'] | null>;
  close(): Promise<void>;
}

interface Running {
  worker: Worker;
  end(answer: CrawlWork[CrawlJobName]['answer'] | null): void;
}

function createThread(workMaxMs: number): CrawlThread {
  let worker: Worker | null = null;
  let running: Running | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  function begun(): Worker {
    if (worker !== null) return worker;
    const made = new Worker(new URL('./crawl-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
    });
    made.unref();
    made.on('message', (message: CrawlThreadEnd) => {
      if (message.kind === 'begun') rearm(workMaxMs, kill);
      else if (running?.worker === made) running.end(message.answer);
    });
    made.on('error', () => undefined);
    made.on('exit', () => {
      if (worker === made) worker = null;
      if (running?.worker === made) running.end(null);
    });
    worker = made;
    return made;
  }

  function rearm(ms: number, done: () => void): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(done, ms);
    timer.unref();
  }

  function kill(): void {
    const dead = worker;
    worker = null;
    if (running !== null && running.worker === dead) running.end(null);
    void dead?.terminate();
  }

  return {
    async run(job) {
      if (closed) return null;
      const thread = begun();
      // Its timers are unref'd, and so is it: whoever waits keeps the process.
      thread.ref();
      return new Promise((resolve) => {
        running = {
          worker: thread,
          end(answer) {
            running = null;
            thread.unref();
            rearm(idleMs, kill);
            resolve(answer);
          },
        };
        thread.postMessage(job);
      });
    },
    async close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      const dead = worker;
      kill();
      await dead?.terminate();
    },
  };
}

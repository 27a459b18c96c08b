import { Worker } from 'node:worker_threads';
import type { CrawlJobName, CrawlThreadEnd, CrawlThreadJob, CrawlWork } from './crawl-worker.ts';

/** Work of crawls that strangers' patterns and files decide the length of, in one thread that is killed and begun anew. */
export interface CrawlThread {
  /** Null: it took too long, or more memory than it may. */
  ask<Name extends CrawlJobName>(job: Name, asked: CrawlWork[Name]['asked']): Promise<CrawlWork[Name]['answer'] | null>;
  close(): Promise<void>;
}

/** From the moment the thread has it in hand. */
const workMaxDefaultMs = 5_000;
const heapMaxMb = 128;
/** An idle thread is let go: most servers never crawl. */
const idleMs = 60_000;

interface Running {
  worker: Worker;
  end(answer: CrawlWork[CrawlJobName]['answer'] | null): void;
}

export function createCrawlThread({ workMaxMs = workMaxDefaultMs } = {}): CrawlThread {
  let worker: Worker | null = null;
  let running: Running | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  /** One after the other. */
  let last: Promise<unknown> = Promise.resolve();

  function begun(): Worker {
    if (worker !== null) return worker;
    const made = new Worker(new URL('./crawl-worker.mjs', import.meta.url), {
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

  function run(job: CrawlThreadJob): Promise<CrawlWork[CrawlJobName]['answer'] | null> {
    if (closed) return Promise.resolve(null);
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
  }

  return {
    ask(job, asked) {
      const answer = last.then(() => run({ job, ...asked } as CrawlThreadJob));
      last = answer;
      return answer as Promise<CrawlWork[typeof job]['answer'] | null>;
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

import { Worker } from 'node:worker_threads';
import type { Job, JobEnd } from './housekeeping.ts';

/** Whatever the ledger does that may take milliseconds, in a thread that starts at its first job. */
export interface Housekeeper {
  /** Moves the write-ahead log into the database, durably, and starts it over. One at a time: joins a running one. */
  checkpoint(): Promise<void>;
  /** Removes events with keys below; resolves to how many. */
  prune(beforeKey: number): Promise<number>;
  /** Finishes running jobs and ends the thread. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(done: number): void;
  reject(error: Error): void;
}

export function createHousekeeper(file: string): Housekeeper {
  let worker: Worker | null = null;
  let waiting: Waiting[] = [];
  let checkpointing: Promise<void> | null = null;

  function start(): Worker {
    const started = new Worker(new URL('./housekeeping.mjs', import.meta.url), { workerData: file });
    // It never keeps the process alive: what it does can be done at the next start.
    started.unref();
    started.on('message', (end: JobEnd) => {
      const first = waiting.shift();
      if (end.done === null) first?.reject(new Error(end.message));
      else first?.resolve(end.done);
    });
    started.on('error', () => {});
    started.on('exit', (code) => {
      worker = null;
      const left = waiting;
      waiting = [];
      for (const one of left) one.reject(new Error(`the ledger's housekeeping thread ended with ${code}`));
    });
    return started;
  }

  function run(job: Job): Promise<number> {
    worker ??= start();
    worker.postMessage(job);
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
    });
  }

  return {
    checkpoint() {
      checkpointing ??= run({ job: 'checkpoint' })
        .then(() => {})
        .finally(() => {
          checkpointing = null;
        });
      return checkpointing;
    },
    prune: (beforeKey) => run({ job: 'prune', beforeKey }),
    async close() {
      if (worker === null) return;
      worker.ref();
      await run({ job: 'close' });
    },
  };
}

import { Worker } from 'node:worker_threads';
import { withLargeYoungGeneration } from '../../kernel/threads/young-generation.ts';
import type { ExtractOrder, ExtractOutcome, ExtractReply } from './extract-order.ts';

const heapMbMax = 256;
/** A page that takes longer makes room for one of another tenant. */
const slowMs = 250;
/** Longer than pages take: one that does may hang its thread, and makes room for another of the same tenant. */
const lateMs = 1_000;
/** A thread takes some 40 MB: unused, it is let go. */
const idleMs = 60_000;
const leastLookMs = 20;
/** A busy machine lets a thread wait for its first moment. */
const leastAnswerMs = 5_000;

export interface ExtractThreadEvents {
  /** It waits for a page. */
  onReady(): void;
  /** It has ended, or is about to; never ready again. */
  onLost(thread: ExtractThread): void;
  /** Its page takes longer than it thought. */
  onPace(): void;
  /** For the operator's log: a fault of ours. */
  onTrouble(message: string): void;
  /** Time of the processor that it has used since its start. */
  cpuMsOf(worker: Worker): Promise<number>;
}

/** Bounds of a page. A busy machine gives a thread little of the processor in a second: only `cpuMs` judges pages. */
export interface PageBounds {
  /** Time of the processor. A page that takes more is `unfit`. */
  cpuMs: number;
  /** By the clock. A page that takes longer is `late`. */
  timeoutMs: number;
}

interface Job {
  tenant: string;
  settle(outcome: ExtractOutcome): void;
}

/** A thread that reads one page at a time, and is ended with a page that takes too long. */
export class ExtractThread {
  state: 'starting' | 'idle' | 'taken' = 'starting';
  readonly #worker: Worker;
  readonly #events: ExtractThreadEvents;
  #job: Job | null = null;
  #pace: 'quick' | 'slow' | 'late' = 'quick';
  /** Timer for the job's last moment, or the idle thread's. */
  #timer: NodeJS.Timeout | null = null;
  /** Runs until a look at what the job has used of the processor. */
  #lookTimer: NodeJS.Timeout | null = null;
  /** Runs until its job is slow, then until it is late. */
  #paceTimer: NodeJS.Timeout | null = null;
  #lastId = 0;
  #lost = false;

  constructor(events: ExtractThreadEvents) {
    this.#events = events;
    const entry = new URL('./extract-worker.ts', import.meta.url);
    const options = {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      // Warnings of libraries about broken pages interest nobody.
      stdout: true,
      stderr: true,
    };
    const worker = withLargeYoungGeneration(() => new Worker(entry, options));
    this.#worker = worker;
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', (message: ExtractReply | { ready: true }) => {
      if ('ready' in message) this.state = 'idle';
      else this.rest(outcomeOf(message));
      events.onReady();
    });
    worker.on('error', (error: Error & { code?: string }) => {
      const spent = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!spent) events.onTrouble(`a thread that reads pages broke: ${error.message}`);
      this.lose(spent ? 'it takes too much memory to read' : 'it cannot be read');
    });
    worker.on('exit', () => this.lose('it cannot be read'));
    worker.unref();
  }

  /** Whose page it reads; null: none. */
  get tenant(): string | null {
    return this.#job?.tenant ?? null;
  }

  /** How its page comes along; `quick` without one. */
  get pace(): 'quick' | 'slow' | 'late' {
    return this.#pace;
  }

  /** For a thread that is `taken`. Never rejects. */
  run(
    tenant: string,
    order: Omit<ExtractOrder, 'id'>,
    { cpuMs, timeoutMs }: PageBounds,
    signal: AbortSignal,
  ): Promise<ExtractOutcome> {
    return new Promise((resolve) => {
      // A page that nobody waits for is not read to its end.
      const leave = () => this.lose('');
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#job = {
        tenant,
        settle(outcome) {
          signal.removeEventListener('abort', leave);
          resolve(signal.aborted ? { kind: 'aborted', begun: true } : outcome);
        },
      };
      this.#worker.ref();
      this.#timer = setTimeout(() => this.#end({ kind: 'late' }), Math.max(1, timeoutMs));
      const before = this.#events.cpuMsOf(this.#worker);
      before.catch(() => undefined);
      this.#lookAfter(cpuMs, this.#job, before, cpuMs);
      this.#paceTimer = setTimeout(() => this.#becomeSlow(), slowMs);
      signal.addEventListener('abort', leave, { once: true });
      // Copied, not moved: the plain way may need it again.
      this.#worker.postMessage({ ...order, id: ++this.#lastId } satisfies ExtractOrder);
    });
  }

  /** Its page, if it has one, came to this; it waits for the next, not for ever. */
  rest(outcome: ExtractOutcome): void {
    this.#takeJob()?.settle(outcome);
    this.state = 'idle';
    this.#worker.unref();
    this.#timer = setTimeout(() => this.lose(''), idleMs);
    this.#timer.unref();
  }

  /** Ends it with its job; `why`: in words about the page. */
  lose(why: string): void {
    this.#end({ kind: 'unfit', why, killed: true });
  }

  #end(outcome: ExtractOutcome): void {
    if (this.#lost) return;
    this.#lost = true;
    const job = this.#takeJob();
    void this.#worker.terminate();
    job?.settle(outcome);
    this.#events.onLost(this);
  }

  /** Ends `job` when it has used `cpuMs` since `before`; a machine that is busy gives it longer by the clock. */
  #lookAfter(ms: number, job: Job, before: Promise<number>, cpuMs: number): void {
    this.#lookTimer = setTimeout(async () => {
      const tooLong = () => {
        if (this.#job === job) this.lose('it takes too long to read');
      };
      // A thread that does not even answer hangs in code that nothing interrupts.
      this.#lookTimer = setTimeout(tooLong, Math.max(leastAnswerMs, cpuMs));
      try {
        const usedMs = (await this.#events.cpuMsOf(this.#worker)) - (await before);
        if (this.#job !== job) return;
        clearTimeout(this.#lookTimer);
        if (usedMs >= cpuMs) tooLong();
        else this.#lookAfter(Math.max(leastLookMs, cpuMs - usedMs), job, before, cpuMs);
      } catch {
        // The thread has ended, and its job with it.
      }
    }, ms);
  }

  /** The same as `lose`; resolves when it is gone. */
  async close(): Promise<void> {
    this.lose('the server is closing');
    await this.#worker.terminate();
  }

  /** The job that ran in it; null: none did. */
  #takeJob(): Job | null {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#paceTimer !== null) clearTimeout(this.#paceTimer);
    if (this.#lookTimer !== null) clearTimeout(this.#lookTimer);
    const job = this.#job;
    this.#job = null;
    this.#pace = 'quick';
    return job;
  }

  #becomeSlow(): void {
    this.#pace = 'slow';
    this.#events.onPace();
    this.#paceTimer = setTimeout(() => {
      this.#pace = 'late';
      this.#events.onPace();
    }, lateMs - slowMs);
  }
}

/** Time of the processor by the operating system's count. */
export async function workerCpuMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}

function outcomeOf(reply: ExtractReply): ExtractOutcome {
  if ('extracted' in reply) return { kind: 'extracted', extracted: reply.extracted };
  if ('wrong' in reply) return { kind: 'wrong', ...reply.wrong };
  if ('unfit' in reply) return { kind: 'unfit', why: reply.unfit, killed: false };
  return { kind: 'unfit', why: 'it cannot be read', killed: false };
}

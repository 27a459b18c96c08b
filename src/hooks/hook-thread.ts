import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { backoffMs } from '../kernel/backoff.ts';
import type { HookFile } from './find-module.ts';
import type { HookOutcome } from './hook-call.ts';
import type { HookName } from './hook-names.ts';
import { begunAt, type HookOrder, type HookReply, type HookThreadData, runningAt } from './hook-order.ts';

export interface HookThreadOptions {
  name: string;
  data: Omit<HookThreadData, 'state'>;
  /** Variables that the module sees in `process.env`. */
  env: Readonly<Record<string, string>>;
  deadlineMs: number;
  memoryMb: number;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

interface Job {
  id: number;
  order: Omit<HookOrder, 'id'>;
  timer: NodeJS.Timeout | null;
  /** How often its deadline was put off, because the code of others ran. */
  puttingsOff: number;
  /** It was given to a second thread, after the first was cut off. */
  again: boolean;
  settle(outcome: HookOutcome): void;
}

/** How often a call whose code has not begun may wait for another deadline: so long others held the thread. */
const puttingsOffMax = 8;
/** How long a module may take until it is imported. */
const loadMs = 10_000;
/** A thread that ended is started again at once, and with a pause where the new one ends before it replies. */
const restartPauses = { firstMs: 100, maxMs: 5_000 };
/** Calls that were cut off while they waited for something: at so many the thread is replaced, and with it what they hold. */
const leftBehindMax = 256;
const linesPerSecond = 20;
const lineCharsMax = 1_000;

/** The thread of a module, which is replaced when its code hangs or takes too much memory. Calls of others run again. */
export class HookThread {
  functions: ReadonlySet<HookName> | null = null;
  files: readonly HookFile[] = [];
  readonly #options: HookThreadOptions;
  /** By number, in the order in which they were sent. */
  readonly #jobs = new Map<number, Job>();
  #places = new Int32Array(new SharedArrayBuffer(8));
  #worker: Worker | null = null;
  #loading: Promise<string | null> | null = null;
  #loaded: ((broken: string | null) => void) | null = null;
  #restart: NodeJS.Timeout | null = null;
  #failures = 0;
  #lastId = 0;
  #leftBehind = 0;
  #lines = { second: 0, count: 0 };
  #closed = false;

  constructor(options: HookThreadOptions) {
    this.#options = options;
  }

  /** Why the module cannot be used, a sentence; null: it can. */
  load(): Promise<string | null> {
    this.#loading ??= new Promise((resolve) => {
      const late = setTimeout(() => settle('it was not imported within 10 s'), loadMs);
      const settle = (broken: string | null) => {
        clearTimeout(late);
        this.#loaded = null;
        if (broken !== null) void this.#end();
        resolve(broken);
      };
      this.#loaded = settle;
      this.#start();
    });
    return this.#loading;
  }

  run(on: HookName, data: object): Promise<HookOutcome> {
    return new Promise((settle) => {
      const job: Job = { id: 0, order: { on, data }, timer: null, puttingsOff: 0, again: false, settle };
      // An idle thread was let go.
      if (this.#worker === null && this.#restart === null) this.#start();
      this.#send(job);
    });
  }

  /** Ends an idle thread; the next call starts another one. */
  letGo(): void {
    void this.#end();
  }

  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    await this.#end();
    this.#closed = true;
    for (const job of [...this.#jobs.values()]) this.#settle(job, { ok: false, why: 'the server closes' });
  }

  #start(): void {
    if (this.#closed) return;
    const { data, env, memoryMb } = this.#options;
    const state = new SharedArrayBuffer(8);
    this.#places = new Int32Array(state);
    this.#leftBehind = 0;
    const worker = new Worker(new URL('./hook-worker.ts', import.meta.url), {
      workerData: { ...data, state } satisfies HookThreadData,
      env: { ...env },
      stdout: true,
      stderr: true,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: {
        maxOldGenerationSizeMb: memoryMb,
        maxYoungGenerationSizeMb: Math.ceil(memoryMb / 4),
        stackSizeMb: 4,
      },
    });
    this.#worker = worker;
    worker.unref();
    worker.on('message', (reply: HookReply) => this.#take(worker, reply));
    worker.on('error', (error: NodeJS.ErrnoException) => this.#lost(worker, whyLost(error, memoryMb)));
    worker.on('exit', () => this.#lost(worker, 'it ended its thread'));
    for (const stream of [worker.stdout, worker.stderr]) this.#logLines(stream);
  }

  #take(worker: Worker, reply: HookReply): void {
    if (worker !== this.#worker) return;
    if ('ready' in reply) {
      this.functions = new Set(reply.ready);
      this.files = reply.files;
      this.#loaded?.(null);
      return;
    }
    if ('broken' in reply) {
      if (this.#loaded === null) this.#lost(worker, `it can no longer be imported: ${reply.broken}`);
      else this.#loaded(reply.broken);
      return;
    }
    this.#failures = 0;
    const job = this.#jobs.get(reply.id);
    if (job === undefined) return;
    if ('why' in reply) this.#settle(job, { ok: false, why: reply.why });
    else this.#settle(job, { ok: true, reply: reply.reply === null ? null : (JSON.parse(reply.reply) as unknown) });
  }

  #send(job: Job): void {
    this.#lastId = (this.#lastId % 0x7fff_ffff) + 1;
    job.id = this.#lastId;
    this.#jobs.set(job.id, job);
    this.#time(job);
    this.#worker?.postMessage({ id: job.id, ...job.order } satisfies HookOrder);
  }

  #time(job: Job): void {
    if (job.timer !== null) return void job.timer.refresh();
    job.timer = setTimeout(() => this.#late(job), this.#options.deadlineMs);
  }

  /** Its deadline is over. The code of another may have held the thread all the time: then it waits on. */
  #late(job: Job): void {
    const hasBegun = this.#worker !== null && Atomics.load(this.#places, begunAt) >= job.id;
    if (!hasBegun && job.puttingsOff < puttingsOffMax) {
      job.puttingsOff += 1;
      job.timer = null;
      return this.#time(job);
    }
    const hangs = Atomics.load(this.#places, runningAt) === job.id;
    this.#settle(job, { ok: false, why: 'it gave no reply before its deadline' });
    if (hangs) this.#replace('it held its thread beyond its deadline');
    else if (hasBegun) {
      this.#leftBehind += 1;
      if (this.#leftBehind >= leftBehindMax) this.#replace('too many of its calls were cut off');
    }
  }

  #settle(job: Job, outcome: HookOutcome): void {
    if (job.timer !== null) clearTimeout(job.timer);
    job.timer = null;
    this.#jobs.delete(job.id);
    job.settle(outcome);
  }

  #replace(why: string): void {
    const { name, log } = this.#options;
    log.warn({ hook: name, why }, 'a hook was cut off, and its thread replaced');
    void this.#end();
    this.#start();
    this.#sendAgain();
  }

  /** Calls under way go to the new thread, once: one that was begun twice may be why the thread ends. */
  #sendAgain(): void {
    const left = [...this.#jobs.values()];
    this.#jobs.clear();
    for (const job of left) {
      if (job.again) {
        this.#settle(job, { ok: false, why: 'its thread ended twice' });
        continue;
      }
      job.again = true;
      this.#send(job);
    }
  }

  /** The thread is gone: the call whose code ran is at fault. */
  #lost(worker: Worker, why: string): void {
    if (worker !== this.#worker || this.#closed) return;
    this.#worker = null;
    if (this.#loaded !== null) return this.#loaded(why);
    const { name, log } = this.#options;
    log.warn({ hook: name, why }, 'the thread of a hook ended, and is started again');
    const running = this.#jobs.get(Atomics.load(this.#places, runningAt));
    if (running !== undefined) this.#settle(running, { ok: false, why });
    const waitMs = backoffMs(this.#failures++, restartPauses);
    this.#restart = setTimeout(() => {
      this.#restart = null;
      this.#start();
      this.#sendAgain();
    }, waitMs);
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  /** Output of the module, a bounded number of lines. */
  #logLines(stream: Readable): void {
    const { name, log } = this.#options;
    createInterface({ input: stream }).on('line', (line) => {
      const second = Math.floor(performance.now() / 1_000);
      if (second !== this.#lines.second) this.#lines = { second, count: 0 };
      this.#lines.count += 1;
      if (this.#lines.count <= linesPerSecond)
        log.info({ hook: name, line: line.slice(0, lineCharsMax) }, 'a hook says');
    });
  }
}

function whyLost({ code, name }: NodeJS.ErrnoException, memoryMb: number): string {
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return `it needed more than its ${memoryMb} MB of memory`;
  return `it threw outside of a call (${name})`;
}

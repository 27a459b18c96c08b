import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { LinearMemory } from '../kernels/linear-memory.ts';
import { PassPace } from './pass-pace.ts';
import { passWords, type SharedPass } from './row-pass.ts';

/** Threads of one arena that help. */
const threadsMax = 7;

interface PassBounds {
  /** Bytes of rows from which they help. */
  fromBytes: number;
  /** Longest that a share may take. */
  shareMaxMs: number;
}

/** The bytes are half a millisecond of work: to wake a thread takes 20 µs of the arena's own. */
const passBounds: PassBounds = { fromBytes: 8 * 1024 * 1024, shareMaxMs: 10_000 };

/** Bounds of a thread's heap, in megabytes: it computes in the arena. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 };

/** Cores that passes of all arenas of a process share. */
export interface PassCores {
  /** Most that they may use together. */
  cores: number;
  /** How many each of them uses (i32), by its number, and which number this one has. */
  used: SharedArrayBuffer;
  arena: number;
}

/** Threads that help an arena with large passes, as far as cores are idle. They are started when there is such a pass. */
export class PassThreads {
  readonly words = new Int32Array(new SharedArrayBuffer((passWords.busy + threadsMax) * 4));
  readonly bounds: PassBounds;
  readonly pace = new PassPace();
  readonly #cores: PassCores;
  readonly #used: Int32Array;
  #workers: Worker[] = [];
  #isStarted = false;

  /** `bounds`: for tests. */
  constructor(cores: PassCores, bounds: Partial<PassBounds> = {}) {
    this.bounds = { ...passBounds, ...bounds };
    this.#cores = cores;
    this.#used = new Int32Array(cores.used);
  }

  /** Numbers of the threads that wait, as many as there are idle cores; those count as used until `rest`. */
  take(): readonly number[] {
    const idle = this.#workers.flatMap((_, number) =>
      Atomics.load(this.words, passWords.busy + number) === 0 ? [number] : [],
    );
    const others = this.#used.reduce((sum, used, arena) => (arena === this.#cores.arena ? sum : sum + used), 0);
    const taken = idle.slice(0, Math.max(0, this.#cores.cores - 1 - others));
    Atomics.store(this.#used, this.#cores.arena, 1 + taken.length);
    return taken;
  }

  rest(): void {
    Atomics.store(this.#used, this.#cores.arena, 0);
  }

  /** To a thread that was taken. */
  post(number: number, shared: SharedPass): void {
    Atomics.store(this.words, passWords.busy + number, 1);
    this.#workers[number]?.postMessage(shared);
  }

  /**
   * Ends this thread, of which the next call gets a new one: a share that did not end may still write into its memory, and
   * all threads that help end with it.
   */
  readonly onLost = (): never => process.exit(1);

  /** Does nothing the second time. */
  start(memory: LinearMemory): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const count = Math.min(threadsMax, this.#cores.cores - 1);
    this.#workers = Array.from({ length: count }, (_, number) => {
      // Until it has loaded.
      Atomics.store(this.words, passWords.busy + number, 1);
      const workerData: PassWorkerData = { memory, words: this.words, number };
      const worker = new Worker(new URL('./pass-worker.ts', import.meta.url), { workerData, resourceLimits });
      // One that has ended stays busy.
      worker.on('error', () => Atomics.store(this.words, passWords.busy + number, 1));
      worker.unref();
      return worker;
    });
  }
}

export interface PassWorkerData {
  memory: LinearMemory;
  words: Int32Array<SharedArrayBuffer>;
  number: number;
}

/** Cores of `auto`: one is the main thread's. */
export const passCoresOf = (threads: number | 'auto'): number =>
  threads === 'auto' ? Math.max(1, availableParallelism() - 1) : threads;

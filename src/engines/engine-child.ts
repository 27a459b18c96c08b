import { backoffMs } from '../kernel/backoff.ts';
import type { Clock } from '../kernel/clock.ts';
import { createTurns, type Turns } from '../kernel/sharing/turns.ts';
import type { FromHost } from './child/host-messages.ts';
import { engineCrowded, engineFailed } from './engine-error.ts';
import { EngineRun } from './engine-run.ts';
import { type EngineTimer, systemTimer } from './engine-timer.ts';

/** Orders of one tenant that wait for their turn; one more is refused at once, so that its request goes to the next target. */
export const queuedOrdersMax = 32;
const allQueuedOrdersMax = 128;
/** A child that says nothing for so long while it has an order is killed. Longer than any window of Whisper takes. */
const orderSilenceMs = 120_000;
/** The same while it loads its model, from a slow disk perhaps. */
const loadSilenceMs = 300_000;
const idleMs = 600_000;
const restarts = { firstMs: 1_000, maxMs: 60_000 };

export interface EngineChildOptions {
  /** For messages: `the engine kokoro-82m`. */
  name: string;
  /** The model to load: the first message that it gets. */
  load: object;
  clock: Clock;
  /** Another child's code, in tests. */
  entry?: URL;
  timer?: EngineTimer;
}

interface Order {
  id: number;
  order: object;
  settle: { resolve(answer: never): void; reject(error: unknown): void };
}

/**
 * A separate process that holds one model and answers one order after another, with turns for tenants. The first
 * order starts it, and ten minutes without any stop it. A crash or hang in it never reaches the gateway, nor does its
 * memory.
 */
export class EngineChild {
  readonly #name: string;
  readonly #load: object;
  readonly #clock: Clock;
  readonly #entry: URL;
  readonly #timer: EngineTimer;
  readonly #turns: Turns;
  /** Has its turn, and waits for the child to be there. */
  #first: Order | null = null;
  #run: EngineRun | null = null;
  /** Whether the run has its model. */
  #loaded = false;
  #atWork: Order | null = null;
  #lastId = 0;
  #crashes = 0;
  #lastDeath = '';
  #startableMs = Number.NEGATIVE_INFINITY;
  #stopIdle = () => {};
  #closed = false;

  constructor({ name, load, clock, entry, timer = systemTimer }: EngineChildOptions) {
    this.#name = name;
    this.#load = load;
    this.#clock = clock;
    this.#entry = entry ?? new URL('./child/engine-host.ts', import.meta.url);
    this.#timer = timer;
    this.#turns = createTurns({
      name: `Orders of ${name}`,
      places: 1,
      waitingMax: allQueuedOrdersMax,
      tenantWaitingMax: queuedOrdersMax,
      refusal: engineCrowded,
    });
  }

  /**
   * The answer to one order. Rejects with an EngineError when the queue is full, the child died or hung, or reported
   * it; with the signal's reason once it is aborted, although the child ends what it has begun.
   */
  async ask<Answer>(tenant: string, order: object, signal?: AbortSignal): Promise<Answer> {
    if (this.#closed) throw this.#closedError();
    const waitMs = this.#startableMs - this.#clock.monotonicMs();
    if (this.#run === null && waitMs > 0) {
      const restartNote = `${this.#name} restarts in ${Math.ceil(waitMs / 1_000)} s: ${this.#lastDeath}`;
      throw engineFailed(restartNote, Math.ceil(waitMs));
    }
    const turn = await this.#turns.take(tenant, signal ?? null);
    return new Promise((resolve, reject) => {
      const settled = () => {
        signal?.removeEventListener('abort', leave);
        turn.giveBack();
      };
      const queued: Order = {
        id: ++this.#lastId,
        order,
        settle: {
          resolve(answer) {
            settled();
            resolve(answer);
          },
          reject(error) {
            settled();
            reject(error);
          },
        },
      };
      // The child ends what it has begun, and keeps its turn that long.
      const leave = () => {
        reject(signal?.reason);
        if (this.#first !== queued) return;
        this.#first = null;
        turn.giveBack();
      };
      if (this.#closed) return queued.settle.reject(this.#closedError());
      if (signal?.aborted) return queued.settle.reject(signal.reason);
      signal?.addEventListener('abort', leave, { once: true });
      this.#stopIdle();
      this.#first = queued;
      this.#next();
    });
  }

  /** Its pid while it runs. */
  pid(): number | null {
    return this.#run?.pid ?? null;
  }

  /** Kills it and what waits for it; nothing may be asked after. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopIdle();
    this.#turns.refuseWaiting(this.#closedError());
    this.#first?.settle.reject(this.#closedError());
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    this.#atWork?.settle.reject(this.#closedError());
    await run.end();
  }

  #closedError(): Error {
    return engineFailed(`${this.#name} is closed`);
  }

  #start(): EngineRun {
    const run = new EngineRun(this.#entry, this.#timer, {
      received: (of, message) => this.#receive(of, message),
      ended: (of, how) => this.#ended(of, how),
    });
    this.#loaded = false;
    run.send({ kind: 'load', load: this.#load });
    run.watch(loadSilenceMs);
    return run;
  }

  #receive(run: EngineRun, message: FromHost): void {
    if (run !== this.#run) return;
    if (message.kind === 'loaded') {
      this.#loaded = true;
      run.stopWatch();
      return this.#next();
    }
    if (message.kind === 'not-loaded') return run.kill(message.message);
    const atWork = this.#atWork;
    if (atWork === null || atWork.id !== message.id) return;
    this.#atWork = null;
    run.stopWatch();
    if (message.kind === 'done') {
      this.#crashes = 0;
      atWork.settle.resolve(message.answer as never);
    } else atWork.settle.reject(engineFailed(`${this.#name}: ${message.message}`));
    this.#next();
  }

  #next(): void {
    const order = this.#first;
    if (order === null) {
      if (this.#run !== null && this.#loaded && this.#atWork === null) this.#rest(this.#run);
      return;
    }
    this.#run ??= this.#start();
    if (!this.#loaded || this.#atWork !== null) return;
    this.#first = null;
    this.#run.ref();
    this.#atWork = order;
    this.#run.send({ kind: 'order', id: order.id, order: order.order });
    this.#run.watch(orderSilenceMs);
  }

  /** Nothing to do: it keeps no process alive, and ends when that lasts. */
  #rest(run: EngineRun): void {
    run.unref();
    this.#stopIdle();
    this.#stopIdle = this.#timer(idleMs, () => {
      if (run !== this.#run || this.#atWork !== null || this.#first !== null) return;
      this.#run = null;
      run.kill('it had nothing to do');
    });
  }

  #ended(run: EngineRun, how: string): void {
    run.stopWatch();
    if (run !== this.#run) return;
    this.#run = null;
    this.#stopIdle();
    if (this.#closed) return;
    const restMs = backoffMs(++this.#crashes, restarts);
    this.#startableMs = this.#clock.monotonicMs() + restMs;
    this.#lastDeath = how;
    // Those that wait too: whatever else can do their work is faster than a model that has to be loaded again.
    const lost = engineFailed(`${this.#name}: ${how}`, restMs);
    this.#turns.refuseWaiting(lost);
    this.#atWork?.settle.reject(lost);
    this.#atWork = null;
    this.#first?.settle.reject(lost);
    this.#first = null;
  }
}

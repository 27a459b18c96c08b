import cluster, { type Worker } from 'node:cluster';
import type { Readable } from 'node:stream';
import { commandVariable, culvert } from '../kernel/command-form.ts';
import { createLink, type Link } from '../kernel/threads/link.ts';
import { type Log, writeLines } from '../observe/log.ts';
import { type HeldPort, holdPort } from './held-port.ts';
import { type Given, type PrimaryOffers, type WorkerOffers, workerVariable } from './worker-seat.ts';

/** A spare that died is not replaced sooner: its next one may die of the same. */
const spareRestMs = 30_000;
/** The first requests behind a start have the cores to themselves. */
const firstSpareMs = 5_000;

/** A worker that has loaded its code, and waits for its role. */
export interface Spare {
  worker: Worker;
  link: Link<WorkerOffers>;
  /** Gives it its place. */
  seated(offers: Partial<PrimaryOffers>, given: Given): void;
}

interface SparesParts {
  program: string;
  form: Given['form'];
  /** Embedded vectors of the primary; null: workers get no stream to them. */
  vectors: object | null;
  log: Log;
}

/**
 * Forks workers, and has one spare ready soon after `begin`: a worker that dies is replaced without waiting for code to be
 * loaded.
 */
export class Spares {
  readonly #parts: SparesParts;
  #port: HeldPort | null = null;
  #spare: Spare | null = null;
  #phase: 'none' | 'kept' | 'ended' = 'none';
  #diedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SparesParts) {
    this.#parts = parts;
  }

  /** Holds the port of the server for all that are forked from now on, until `end`. To be called before the first. */
  async open(host: string, port: number): Promise<void> {
    this.#port = await holdPort(host, port);
    if (this.#phase === 'ended') return this.#release();
    const { program, form, vectors } = this.#parts;
    // Workers accept from one socket: a connection that was handed to a worker just before its death hung for ever.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({
      exec: program,
      args: [],
      serialization: 'advanced',
      // Lines of several processes would cut each other on a pipe.
      stdio: [
        'ignore',
        form === 'pretty' ? 'inherit' : 'pipe',
        'inherit',
        'ipc',
        vectors === null ? 'ignore' : 'pipe',
        this.#port?.descriptor ?? 'ignore',
      ],
    });
  }

  get holdsPort(): boolean {
    return this.#port !== null;
  }

  /** The start is over: a few seconds later there is a spare. */
  begin(): void {
    if (this.#phase === 'none') this.#phase = 'kept';
    setTimeout(() => this.prepare(), firstSpareMs).unref();
  }

  prepare(): void {
    if (this.#phase !== 'kept' || this.#spare !== null || performance.now() - this.#diedMs < spareRestMs) return;
    const spare = this.#fork();
    this.#spare = spare;
    spare.worker.once('exit', () => {
      if (this.#spare !== spare) return;
      this.#spare = null;
      this.#diedMs = performance.now();
      setTimeout(() => this.prepare(), spareRestMs).unref();
    });
  }

  /** The spare, or a worker that has yet to load its code. */
  take(): Spare {
    const spare = this.#spare;
    this.#spare = null;
    return spare ?? this.#fork();
  }

  end(): void {
    this.#phase = 'ended';
    this.#spare?.worker.process.kill('SIGKILL');
    this.#release();
  }

  /** The port closes with the last worker. */
  #release(): void {
    this.#port?.release();
    this.#port = null;
  }

  #fork(): Spare {
    const { promise, resolve } = Promise.withResolvers<Given>();
    const offers: Partial<PrimaryOffers> = { begin: () => promise };
    const worker = cluster.fork({ [workerVariable]: '1', [commandVariable]: culvert });
    const link = createLink<WorkerOffers>((message) => void worker.send(message, () => undefined), offers);
    worker.on('message', link.take);
    // Such as a message to one that has just died.
    worker.on('error', () => undefined);
    if (worker.process.stdout !== null) passLines(worker.process.stdout, this.#parts.log);
    return {
      worker,
      link,
      seated(more, given) {
        Object.assign(offers, more);
        resolve(given);
      },
    };
  }
}

/** Passes whole lines on; a line that a death has cut is ended. */
function passLines(from: Readable, log: Log): void {
  let rest = '';
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) writeLines(log, rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
  from.on('end', () => {
    if (rest !== '') writeLines(log, `${rest}\n`);
  });
}

import type { SeenProcess } from '../books/metering/replicas.ts';
import { every } from '../kernel/every.ts';
import { endedShownMs } from '../kernel/limits.ts';
import type { Link } from '../kernel/threads/link.ts';
import type { WorkerOffers } from './worker-seat.ts';

/** Each worker is asked for its facts so often, one question at a time. */
const askEveryMs = 1_000;

/**
 * Turns in a row that a worker leaves without an answer, and then hangs. Turns are counted, not time: while this
 * process or the whole machine is paused, no worker has failed to answer.
 */
const silentTurnsMax = 20;

/** Workers that have ended and are still shown. */
const endedMax = 100;

/** A worker that is asked. */
interface PulsedWorker {
  /** Its boot. */
  id: string;
  link: Pick<Link<WorkerOffers>, 'ask'>;
  /** It does not answer any more. */
  onHangs(seconds: number): void;
}

/** The heartbeat of all workers, by which the primary knows their load, and which of them hangs. */
export class Pulse {
  readonly #workers = new Map<string, PulsedWorker & { seen: SeenProcess; silentTurns: number }>();
  #ended: SeenProcess[] = [];
  #stop: (() => void) | null = null;

  begin(worker: PulsedWorker): void {
    const seen = { id: worker.id, facts: null, seenMs: Date.now(), over: false };
    this.#workers.set(worker.id, { ...worker, seen, silentTurns: 0 });
    this.#ask(worker.id);
    this.#stop ??= every(askEveryMs, () => this.#turn());
  }

  /** The worker has gone. */
  end(id: string): void {
    const seen = this.#workers.get(id)?.seen;
    if (seen === undefined) return;
    this.#workers.delete(id);
    this.#ended = [...this.#ended.slice(1 - endedMax), { ...seen, seenMs: Date.now(), over: true }];
  }

  /** Replicas that serve, and those that ended a while ago. */
  seen(): SeenProcess[] {
    const sinceMs = Date.now() - endedShownMs;
    this.#ended = this.#ended.filter(({ seenMs }) => seenMs > sinceMs);
    return [...[...this.#workers.values()].map(({ seen }) => seen), ...this.#ended];
  }

  stop(): void {
    this.#stop?.();
  }

  #turn(): void {
    for (const worker of this.#workers.values()) {
      if (worker.silentTurns === 0) this.#ask(worker.id);
      worker.silentTurns += 1;
      if (worker.silentTurns === silentTurnsMax) worker.onHangs((silentTurnsMax * askEveryMs) / 1_000);
    }
  }

  #ask(id: string): void {
    const worker = this.#workers.get(id);
    worker?.link.ask('facts').then(
      (facts) => {
        worker.seen = { id, facts, seenMs: Date.now(), over: false };
        worker.silentTurns = 0;
      },
      // It has ended, which its place learns.
      () => undefined,
    );
  }
}

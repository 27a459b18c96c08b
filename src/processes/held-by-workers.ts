import { addTo } from '../kernel/sharing/elsewhere.ts';
import type { Link } from '../kernel/threads/link.ts';
import type { WorkerOffers } from './worker-seat.ts';

type WorkerLink = Pick<Link<WorkerOffers>, 'notify'>;

/** Holdings of each worker of what all callers share: the others learn of them. */
export class HeldByWorkers {
  readonly #serving: () => readonly WorkerLink[];
  readonly #held = new Map<WorkerLink, Map<string, number>>();

  constructor(serving: () => readonly WorkerLink[]) {
    this.#serving = serving;
  }

  /** A worker holds so much more of `name`. */
  take(of: WorkerLink, name: string, by: number): void {
    let held = this.#held.get(of);
    if (held === undefined) {
      held = new Map();
      this.#held.set(of, held);
    }
    addTo(held, name, by);
    for (const link of this.#serving()) if (link !== of) link.notify('heldElsewhere', name, by);
  }

  /** Tells a worker that serves from now on what the others hold. */
  begin(worker: WorkerLink): void {
    for (const [link, held] of this.#held) {
      if (link === worker) continue;
      for (const [name, amount] of held) worker.notify('heldElsewhere', name, amount);
    }
  }

  /** The worker is dead, and all that it said was taken. */
  end(worker: WorkerLink): void {
    for (const [name, amount] of this.#held.get(worker) ?? []) this.take(worker, name, -amount);
    this.#held.delete(worker);
  }
}

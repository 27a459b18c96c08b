import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Link } from '../kernel/threads/link.ts';
import { withinMs } from '../kernel/within-ms.ts';
import type { WorkerOffers } from './worker-seat.ts';

/** A worker that takes longer is not waited for: what it has to say is in the books a little later. */
const waitMaxMs = 100;

/** Answers of a worker that takes longer are left out. */
const answersMaxMs = 1_000;

/** A worker that takes longer has no call that can be cancelled. */
const cancelMaxMs = 1_000;

/** Ports and what of them people look at, who may have an answer of another worker already. */
const looks: Readonly<Record<string, ReadonlySet<string>>> = {
  counters: new Set(['read', 'running']),
  ledger: new Set(['find', 'list', 'usage', 'traffic', 'attempts', 'cacheUses', 'promptCacheDays', 'flush']),
};

/** Whether a method of the books tells people what was used. */
export function isLook(port: string, name: string): boolean {
  return looks[port]?.has(name) === true;
}

/**
 * Waits until the books have what workers said before: a worker says that a request has ended when its answer is out,
 * and its caller may look at another worker at once.
 */
export class Hearing {
  readonly #links: () => readonly Link<WorkerOffers>[];
  #running: Promise<void> | null = null;
  /** For all that ask while one runs: it may have begun too early for them. */
  #next: Promise<void> | null = null;

  constructor(links: () => readonly Link<WorkerOffers>[]) {
    this.#links = links;
  }

  all(): Promise<void> {
    if (this.#running === null) return this.#begin();
    this.#next ??= this.#running.then(() => this.#begin());
    return this.#next;
  }

  #begin(): Promise<void> {
    this.#next = null;
    // Messages of a worker come in their order, so its answer follows all that it said.
    this.#running = askAll(this.#links(), (link) => link.ask('delivered'), waitMaxMs).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }
}

/**
 * Resolves when `ask` has an answer of all workers, or after `maxMs`. What had come by then is taken: timers run first
 * in a process that has not had the processor for so long.
 */
export async function askAll(
  links: readonly Link<WorkerOffers>[],
  ask: (link: Link<WorkerOffers>) => Promise<unknown>,
  maxMs: number,
): Promise<void> {
  const answers = await withinMs(maxMs, Promise.allSettled(links.map(ask)), null);
  if (answers === null) await nextTurn();
}

/** Cancels the call of this name, if exactly one runs at all of these workers. */
export async function cancelAt(links: readonly Link<WorkerOffers>[], name: string): Promise<void> {
  const counts = new Map<Link<WorkerOffers>, number>();
  await askAll(links, async (link) => counts.set(link, await link.ask('runningCalls', name)), cancelMaxMs);
  const [one, ...more] = [...counts].filter(([, count]) => count > 0);
  if (one?.[1] === 1 && more.length === 0) one[0].notify('endCalls', name);
}

/** Answers of those workers that give one in time. */
export async function answersOf<T>(
  links: readonly Link<WorkerOffers>[],
  ask: (link: Link<WorkerOffers>) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = [];
  await askAll(links, async (link) => answers.push(await ask(link)), answersMaxMs);
  return answers;
}

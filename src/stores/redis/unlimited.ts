import type { Entry, Scope } from '../../books/metering/counters.ts';
import { BriefSet, type Placed } from '../../kernel/brief.ts';
import { every } from '../../kernel/every.ts';
import { endless } from '../../kernel/limits.ts';
import { placesKey } from './keys.ts';
import type { Leases } from './leases.ts';
import type { Turns } from './operation-turns.ts';

/** Another process may have learnt of a limit: running requests of this one are in it after so long. */
const lookEveryMs = 10_000;

/** Scopes in one question. */
const batchMax = 500;

/** A running request in a scope that limits no places. */
interface Running extends Placed {
  requestId: string;
  account: string;
  scope: Scope;
  /** Gives its place back. Null: it has none, since none are counted. */
  leave: (() => void) | null;
}

/**
 * Running requests of this process in scopes without a limit of places. Redis does not count them, so that they need
 * not ask it. They take their places when a limit is set, even if there are fewer.
 */
export class Unlimited {
  readonly #leases: Pick<Leases, 'taken'>;
  readonly #ask: Turns['ask'];
  /** A `Map`, since scopes of many callers may end alike; what it deletes holds nothing. */
  readonly #running = new Map<Scope, BriefSet<Running>>();
  /** The same lists come with every request of a caller. */
  readonly #limited = new WeakMap<Entry['places'], Entry['places']>();
  readonly #stop: () => void;

  constructor(leases: Pick<Leases, 'taken'>, ask: Turns['ask']) {
    this.#leases = leases;
    this.#ask = ask;
    this.#stop = every(lookEveryMs, () => void this.look());
  }

  /** The places that have a limit: this very list where all have. */
  limitedOf(places: Entry['places']): Entry['places'] {
    const known = this.#limited.get(places);
    if (known !== undefined) return known;
    const limited = places.filter(({ allowed }) => allowed !== endless);
    const list = limited.length === places.length ? places : limited;
    this.#limited.set(places, list);
    return list;
  }

  /** A request has entered. The returned function, which is idempotent, ends it. */
  add({ requestId, account, places }: Entry): () => void {
    const running: Running[] = [];
    for (const { scope, allowed } of places) {
      if (allowed !== endless) continue;
      const one: Running = { requestId, account, scope, leave: null, place: -1 };
      const there = this.#running.get(scope) ?? new BriefSet();
      there.add(one);
      this.#running.set(scope, there);
      running.push(one);
    }
    return () => {
      for (const one of running) {
        const there = this.#running.get(one.scope);
        if (there?.delete(one) && there.size === 0) this.#running.delete(one.scope);
        one.leave?.();
        one.leave = null;
      }
    };
  }

  /** How many requests of this process run in a scope without a place there. */
  runningIn(scope: Scope): number {
    return this.#running.get(scope)?.size ?? 0;
  }

  /** Resolves when requests that run in these scopes have places there; null: none are without. */
  count(places: Entry['places']): Promise<void> | null {
    if (this.#running.size === 0) return null;
    const all: Running[] = [];
    for (const { scope } of places) {
      const there = this.#running.get(scope);
      if (there === undefined) continue;
      all.push(...there.values());
      this.#running.delete(scope);
      there.clear();
    }
    if (all.length === 0) return null;
    const { leaves, done } = this.#leases.taken(
      all.map(({ requestId, account, scope }) => ({
        requestId,
        sets: { keys: [placesKey(account, scope)], args: [] },
      })),
    );
    for (const [at, one] of all.entries()) one.leave = leaves[at] ?? null;
    return done;
  }

  /** Gives places to running requests where another process counts them: it knows of a limit. Runs on a timer, too. */
  async look(): Promise<void> {
    const places = [...this.#running.values()].flatMap((there) =>
      there
        .values()
        .slice(0, 1)
        .map(({ account, scope }) => ({ scope, key: placesKey(account, scope) })),
    );
    for (let i = 0; i < places.length; i += batchMax) {
      const batch = places.slice(i, i + batchMax);
      const { answer } = await this.#ask('running', { keys: batch.map(({ key }) => key), args: [] }, []);
      if (typeof answer === 'string') return;
      const limited = batch.filter((_, at) => Number(answer[at + 1]) > 0);
      await this.count(limited.map(({ scope }) => ({ id: 'concurrency', scope, allowed: endless })));
    }
  }

  close(): void {
    this.#stop();
  }
}

import type { Entry } from '../../books/metering/counters.ts';
import { every } from '../../kernel/every.ts';
import { Demand } from './demand.ts';

/** A place that a request has left is kept for the next one for so long. */
const idleMaxMs = 250;

/** After so long without an answer of Redis nobody knows how many run elsewhere. */
const knownMs = 500;

const tidyEveryMs = 100;

/** Kept places of one list. */
const idleMax = 1_000;

/**
 * Other replicas cannot use what is kept here. So none is kept of limits with fewer places, and of others none while more
 * than this part of them is taken.
 */
const allowedMin = 16;
const takenMax = 1 / 4;

interface Pool {
  demand: Demand;
  idle: { give: () => void; sinceMs: number }[];
  roomyUntilMs: number;
  /** A request asks Redis how many run, before that is forgotten. */
  isAsking: boolean;
}

/**
 * Places among running requests that go from one request of this process to its next one. They count as taken
 * meanwhile, so only lists with room enough keep any.
 */
export class Slots {
  readonly #nowMs: () => number;
  readonly #pools = new WeakMap<Entry['places'], Pool>();
  /** With kept places. */
  readonly #live = new Set<Pool>();
  #stopTidying: (() => void) | null = null;
  #isClosed = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Function that the next request has to call when it leaves; null: Redis must be asked for a place. */
  take(places: Entry['places']): (() => void) | null {
    const pool = this.#poolOf(places);
    const atMs = this.#nowMs();
    pool.demand.add(atMs, 0);
    if (atMs >= pool.roomyUntilMs) return null;
    if (!pool.isAsking && atMs >= pool.roomyUntilMs - knownMs / 2) {
      pool.isAsking = true;
      return null;
    }
    const slot = pool.idle.pop();
    return slot === undefined ? null : this.#leaver(pool, slot.give);
  }

  /** Redis has given a place: `give` gives it back. How many run now, by list. */
  granted(places: Entry['places'], running: readonly number[], give: () => void): () => void {
    const pool = this.#poolOf(places);
    const isRoomy = pool.demand.isBusy() && places.every(({ allowed }, i) => hasRoom(allowed, running[i] ?? allowed));
    pool.isAsking = false;
    pool.roomyUntilMs = isRoomy ? this.#nowMs() + knownMs : 0;
    return this.#leaver(pool, give);
  }

  /** Gives all of them back. */
  close(): void {
    this.#isClosed = true;
    this.#stopTidying?.();
    for (const pool of this.#live) for (const { give } of pool.idle) give();
    this.#live.clear();
  }

  #poolOf(places: Entry['places']): Pool {
    const known = this.#pools.get(places);
    if (known !== undefined) return known;
    const pool: Pool = { demand: new Demand(), idle: [], roomyUntilMs: 0, isAsking: false };
    this.#pools.set(places, pool);
    return pool;
  }

  /** Idempotent. */
  #leaver(pool: Pool, give: () => void): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#keep(pool, give);
    };
  }

  #keep(pool: Pool, give: () => void): void {
    const sinceMs = this.#nowMs();
    if (this.#isClosed || sinceMs >= pool.roomyUntilMs || pool.idle.length >= idleMax) return give();
    pool.idle.push({ give, sinceMs });
    this.#live.add(pool);
    if (this.#stopTidying !== null) return;
    this.#stopTidying = every(tidyEveryMs, () => this.#tidy());
  }

  #tidy(): void {
    const atMs = this.#nowMs();
    for (const pool of this.#live) {
      const { idle } = pool;
      const isRoomy = atMs < pool.roomyUntilMs;
      // The last ones are taken first, so the first ones have waited longest.
      while (idle[0] !== undefined && (!isRoomy || atMs - idle[0].sinceMs > idleMaxMs)) idle.shift()?.give();
      if (idle.length === 0) this.#live.delete(pool);
    }
    if (this.#live.size > 0 || this.#stopTidying === null) return;
    this.#stopTidying();
    this.#stopTidying = null;
  }
}

function hasRoom(allowed: number, taken: number): boolean {
  return allowed >= allowedMin && taken <= takenMax * allowed;
}

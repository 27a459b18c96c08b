import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Full, Held, Limit, Unavailable } from '../../src/books/metering/counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { type Random, seededRandom } from '../../src/kernel/random.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { fakeClock } from '../fake-clock.ts';
import { type CuttingProxy, startCuttingProxy } from '../faults/cutting-proxy.ts';
import type { StartedRedis } from '../start-redis.ts';
import { booked, type FakeBooks, fakeBooks } from '../stores/counter-books.ts';
import { type Asker, limitOf, newAsker, newRequestId } from '../stores/counter-requests.ts';
import { reservationRow } from '../stores/rows.ts';
import { until } from '../until.ts';

/** What a run came to, in requests. */
export interface LeaseRun {
  passed: number;
  refused: number;
  unavailable: number;
  /** Answered without Redis. */
  leased: number;
  crashes: number;
  partitions: number;
  /** Redis answered all replicas late. */
  stalls: number;
  flushes: number;
}

export interface LeaseOrder {
  seed: number;
  steps: number;
  /** Replicas die, are cut off from Redis, and Redis answers late and loses its memory. */
  faults: 'none' | 'some';
}

interface Running {
  id: string;
  held: Held;
  leave(): void;
}

interface Replica {
  counters: RedisCounters;
  proxy: CuttingProxy;
  running: Running[];
  isGone: boolean;
  healsAtStep: number;
}

const unit = 1_000;
const replicasOf = 3;
const allowed = 1_600 * unit;
const callsAllowed = 2_500 * unit;
const places = 400;

/**
 * Replicas over a real Redis, each by its own line, and a ledger that refuses what comes too late. Time goes on in steps,
 * some ms each. Asserted after every step: nobody was admitted above a limit.
 */
export async function simulateLeases(t: TestContext, redis: StartedRedis, order: LeaseOrder): Promise<LeaseRun> {
  const random = seededRandom(order.seed);
  const run: LeaseRun = {
    passed: 0,
    refused: 0,
    unavailable: 0,
    leased: 0,
    crashes: 0,
    partitions: 0,
    stalls: 0,
    flushes: 0,
  };
  const world = new World(t, redis, random, run);
  for (let i = 0; i < replicasOf; i += 1) world.replicas.push(await world.start());
  for (let step = 0; step < order.steps; step += 1) {
    world.clock.advance(Math.floor(random.next() * 30));
    if (order.faults === 'some') await world.fault(step, order.steps);
    await world.requests();
    world.check(order.faults);
  }
  await world.settleAll(order.faults);
  await world.close();
  return run;
}

class World {
  readonly clock = fakeClock(Date.now());
  readonly books: FakeBooks = fakeBooks('later');
  readonly who: Asker = newAsker({ tier: 'premium' });
  readonly replicas: Replica[] = [];
  readonly #limits: readonly Limit[];
  readonly #calls: readonly Limit[];
  readonly #places: { id: string; scope: string; allowed: number }[];
  readonly #enteredAt: number[] = [];
  /** Milli-units that the ledger has, by request. */
  readonly #inBooks = new Map<string, number>();
  readonly #opened: RedisCounters[] = [];
  readonly #late = new Set<Promise<void>>();
  readonly #t: TestContext;
  readonly #redis: StartedRedis;
  readonly #random: Random;
  readonly #run: LeaseRun;

  constructor(t: TestContext, redis: StartedRedis, random: Random, run: LeaseRun) {
    this.#t = t;
    this.#redis = redis;
    this.#random = random;
    this.#run = run;
    const { who } = this;
    this.#limits = [
      limitOf(who, 'calls', 'minute', 4_000 * unit, { scope: who.scopes[2]!, id: 'tier:premium:rpm' }),
      limitOf(who, 'units', '5h', allowed),
      limitOf(who, 'units', 'month', allowed + 50 * unit, { scope: who.scopes[1]! }),
      limitOf(who, 'tokens', 'week', 1e9),
    ];
    this.#calls = [limitOf(who, 'calls', 'minute', callsAllowed)];
    this.#places = [{ id: 'concurrency', scope: who.scopes[0]!, allowed: places }];
  }

  async start(): Promise<Replica> {
    const proxy = await startCuttingProxy(this.#t, Number(new URL(this.#redis.url).port));
    const counters = new RedisCounters({
      url: `redis://127.0.0.1:${proxy.port}`,
      booksId: 'leases',
      books: this.books,
      rules: { scopesOf, callMilliIn },
      clock: systemClock,
      nowMs: this.clock.wallMs,
      onTrouble: () => {},
    });
    this.#opened.push(counters);
    await counters.whenReady();
    return { counters, proxy, running: [], isGone: false, healsAtStep: Number.POSITIVE_INFINITY };
  }

  async fault(step: number, steps: number): Promise<void> {
    for (const replica of this.replicas)
      if (step >= replica.healsAtStep) {
        replica.healsAtStep = Number.POSITIVE_INFINITY;
        replica.proxy.lose(false);
      }
    const chance = this.#random.next();
    if (chance < 0.01) await this.#crash();
    else if (chance < 0.015) {
      this.#run.partitions += 1;
      const replica = this.#any();
      replica.proxy.lose(true);
      replica.healsAtStep = step + 20;
    } else if (chance < 0.02) {
      this.#run.stalls += 1;
      this.#redis.cli('client', 'pause', '600', 'all');
    } else if (step === Math.floor(steps / 3)) {
      this.#run.flushes += 1;
      this.#redis.cli('flushall');
    }
  }

  /** The ledger's open reservations of a replica that is gone are charged, by another. */
  async #crash(): Promise<void> {
    const at = Math.floor(this.#random.next() * this.replicas.length);
    const gone = this.replicas[at]!;
    this.#run.crashes += 1;
    gone.isGone = true;
    gone.proxy.lose(true);
    for (const { id, held } of gone.running) if (this.#inBooks.has(id)) this.#close(id, held, held.costMilli);
    this.replicas[at] = await this.start();
  }

  /** Some at every replica, and the ends of some. */
  async requests(): Promise<void> {
    for (const replica of this.replicas) {
      const count = Math.floor(this.#random.next() * 4);
      for (let i = 0; i < count; i += 1) this.#begin(this.#one(replica));
      for (const running of replica.running.splice(0, Math.floor(this.#random.next() * 4))) this.#end(replica, running);
    }
    // Answers of a cut line come late: they are not waited for.
    await Promise.race([Promise.all(this.#late), sleep(20)]);
  }

  #begin(one: Promise<void>): void {
    const late = one.finally(() => this.#late.delete(late));
    this.#late.add(late);
  }

  async #one(replica: Replica): Promise<void> {
    const { counters } = replica;
    const { account, scopes } = this.who;
    const id = newRequestId();
    const entering = counters.enter({
      requestId: id,
      account,
      callMilli: unit,
      limits: this.#calls,
      places: this.#places,
    });
    const entered = await entering;
    if (entered.kind !== 'entered') return this.#refused(entered);
    this.#enteredAt.push(this.clock.wallMs());
    const costMilli = this.#random.next() < 0.2 ? 50 : unit;
    const holding = counters.hold({ requestId: id, account, scopes, costMilli, limits: this.#limits });
    if (!(holding instanceof Promise) && holding.kind === 'held') this.#run.leased += 1;
    const held = await holding;
    if (replica.isGone) return;
    if (held.kind !== 'held') {
      entered.leave();
      return this.#refused(held);
    }
    if (this.#random.next() < 0.3) await sleep(this.#random.next() * 5);
    if (replica.isGone) return;
    // As the ledger does: too late, or it cannot write.
    if (systemClock.monotonicMs() > (held.bookByMs ?? 0) || this.#random.next() < 0.02) {
      counters.settle(held, { costMilli: 0, tokens: 0, usdNano: 0 });
      entered.leave();
      return;
    }
    this.#run.passed += 1;
    this.#inBooks.set(id, costMilli);
    const { tenant, tier } = this.who;
    const atMs = this.clock.wallMs();
    const { quotaMs } = held;
    this.books.open(reservationRow({ requestId: id, atMs, account, tenant, tier, quotaMs, costMilli }));
    replica.running.push({ id, held, leave: entered.leave });
  }

  #refused({ kind }: Full | Unavailable): void {
    this.#run[kind === 'full' ? 'refused' : 'unavailable'] += 1;
  }

  #end({ counters }: Replica, { id, held, leave }: Running): void {
    const keptMilli = this.#random.next() < 0.1 ? 0 : held.costMilli;
    this.#close(id, held, keptMilli);
    counters.settle(held, { costMilli: keptMilli, tokens: 3, usdNano: 7 });
    leave();
  }

  #close(id: string, held: Held, keptMilli: number): void {
    const { account, tenant, tier } = this.who;
    const event = booked(account, held.quotaMs, { costMilli: keptMilli, tokens: 3, tenant, tier });
    this.books.settle(id, { ...event, settledMs: this.clock.wallMs(), costUsd: 7e-9 });
    this.#inBooks.set(id, keptMilli);
  }

  check(faults: LeaseOrder['faults']): void {
    const used = this.#usedInBooks();
    assert.ok(used <= allowed, `${used} of ${allowed} milli-units were given`);
    // Of calls that came to no reservation a Redis that lost its memory knows nothing.
    if (faults === 'some') return;
    const nowMs = this.clock.wallMs();
    const calls = this.#enteredAt.filter((atMs) => atMs > nowMs - 60_000).length;
    assert.ok(calls * unit <= callsAllowed, `${calls} calls in a minute`);
  }

  #usedInBooks(): number {
    return [...this.#inBooks.values()].reduce((sum, milli) => sum + milli, 0);
  }

  #any(): Replica {
    return this.replicas[Math.floor(this.#random.next() * this.replicas.length)]!;
  }

  /**
   * All ends are told and all leases over: Redis counts what the ledger has. Lost leases count, too, and what a Redis that
   * did not answer in time may have taken.
   */
  async settleAll(faults: LeaseOrder['faults']): Promise<void> {
    for (const { proxy } of this.replicas) proxy.lose(false);
    await Promise.all(this.#late);
    for (const replica of this.replicas) for (const one of replica.running.splice(0)) this.#end(replica, one);
    this.clock.advance(1_000);
    const { counters } = this.replicas[0]!;
    const { account, scopes } = this.who;
    const expected = this.#usedInBooks();
    const isExact = faults === 'none' && this.#run.unavailable === 0;
    const used = async () => {
      const limits = scopes.map((scope) => limitOf(this.who, 'units', 'month', Number.POSITIVE_INFINITY, { scope }));
      return (await counters.read(account, limits)).map((state) => state.used);
    };
    await until('Redis counts what the ledger has', async () => {
      const now = await used().catch(() => [Number.NaN]);
      return isExact ? now.every((one) => one === expected) : now.every((one) => one >= expected);
    });
    await sleep(250);
    for (const one of await used()) assert.ok(one >= expected, `Redis counts ${one} of ${expected}`);
    if (isExact) assert.deepEqual(await counters.running(account, [scopes[0]!]), [0]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((counters) => counters.close()));
  }
}

import type * as port from '../../books/metering/counters.ts';
import type { HintChannel } from '../../books/metering/hint-channel.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { bookedMaxMs, seedWaitMaxMs } from '../patience.ts';
import { Slots } from './concurrency-slots.ts';
import { Headroom, statesAfter } from './headroom.ts';
import { createRedisHints, hintScript } from './hint-channel.ts';
import { openKey, placesKey, scopeKey } from './keys.ts';
import { createKnownOver, type KnownOver } from './known-over.ts';
import { createLeases, type Leases } from './leases.ts';
import { fullOf, statesBefore, statesOf } from './limits-on-wire.ts';
import { type Answer, Link } from './link.ts';
import { pulseScript, renewScript } from './lua-leases.ts';
import { beginSeedScript, forgetScript, oldScript, seedScript } from './lua-seed.ts';
import { turnScript } from './lua-turn.ts';
import { createTurns, type OperationName, type TurnAnswer, type Turns } from './operation-turns.ts';
import { createOwed, type Owed } from './owed.ts';
import { createPlans, type Plans, readPlan, type ScopedPlan, tierCallMilli } from './plans.ts';
import type { Script } from './script.ts';
import type { SeedFacts } from './seed-fields.ts';
import { createSeeding, type Seeding } from './seeding.ts';
import { type KeyServer, keyServersOf, type StoreUrl } from './servers.ts';
import { createSettlements, type Settlements } from './settlements.ts';
import { createSweep, type Sweep } from './sweep.ts';
import { createTakes, type Takes } from './takes.ts';
import { createRedisTally, tallyScript } from './tally.ts';
import { Unlimited } from './unlimited.ts';
import type { Reply } from './wire.ts';

/** Attempts to seed the scopes of one call: Redis may lose a scope again right after its seed. */
const seedsPerAskMax = 3;

const scripts: readonly Script[] = [
  turnScript,
  renewScript,
  pulseScript,
  beginSeedScript,
  seedScript,
  oldScript,
  forgetScript,
  tallyScript,
  hintScript,
];

/** How long a start waits for counters that begin anew, which takes 1.3 s. */
const startMaxMs = 2_500;

/** How long the end of this process waits for what it gives back. */
const closeMaxMs = 300;

const full = 1;
const needsSeed = 3;

const unavailable: port.Unavailable = { kind: 'unavailable', reason: 'the quota counters cannot be asked right now' };

export interface RedisCountersOptions {
  /** Value of `storage.state`. */
  url: StoreUrl;
  /** The part of a cluster. */
  server?: KeyServer | undefined;
  /**
   * Id of this ledger for ever: counters of other ledgers in this Redis are not ours. It has neither braces nor spaces.
   */
  booksId: string;
  /** The ledger that all processes over these counters share. */
  books: port.QuotaBooks;
  /** Functions of books/metering/counter-scope.ts. */
  rules: Pick<SeedFacts, 'scopesOf' | 'callMilliIn'>;
  clock: Clock;
  /** For the operator's log: that nothing can be admitted, and that it can again. */
  onTrouble: (message: string, level?: 'info') => void;
  /** Replaces the server's time, for tests. */
  nowMs?: () => number;
}

/**
 * Counters that many processes share. They connect, and connect again for ever, without a call. Until the first
 * connection, and whenever Redis is away, slow or has lost its memory, the answer is `unavailable`: admission fails
 * closed.
 */
export class RedisCounters implements port.Counters {
  /** Counts apart from limits. */
  readonly tally: SharedTally;
  readonly hints: HintChannel;
  readonly #closeHints: () => void;
  readonly #clock: Clock;
  readonly #knownOver: KnownOver;
  readonly #headroom: Headroom;
  readonly #leases: Leases;
  readonly #returned: Owed;
  readonly #unlimited: Unlimited;
  readonly #link: Link;
  readonly #plans: Plans = createPlans(() => this.#wallMs());
  readonly #takes: Takes;
  readonly #turns: Turns;
  readonly #seeding: Seeding;
  readonly #settlements: Settlements;
  readonly #slots: Slots;
  readonly #sweep: Sweep;
  readonly #wallMs: () => number;

  constructor({ url, server: named, booksId, books, rules, clock, onTrouble, nowMs }: RedisCountersOptions) {
    const server = named ?? keyServersOf(url, clock).cache;
    this.#clock = clock;
    this.#wallMs = nowMs ?? (() => clock.wallMs());
    const steadyMs = nowMs ?? (() => clock.monotonicMs());
    this.#knownOver = createKnownOver(steadyMs);
    this.#slots = new Slots(steadyMs);
    this.#headroom = new Headroom({
      ask: (...args) => this.#ask(...args),
      ready: () => this.#link.ready(),
      nowMs: steadyMs,
    });
    this.#leases = createLeases({
      run: (...args) => this.#link.run(...args),
      ask: (...args) => this.#turns.ask(...args),
      ready: () => this.#link.ready(),
    });
    this.#link = new Link({
      server,
      booksId,
      clock,
      scripts,
      onTrouble,
      ...(nowMs === undefined ? {} : { nowMs }),
      beforeEpoch: (run) => this.#leases.takeAgain(run),
      onReady: () => {
        // It may begin with less than was counted before.
        this.#knownOver.forget();
        this.#returned.forget();
        this.#leases.onReady();
        this.#settlements.onReady();
      },
    });
    this.#turns = createTurns(this.#link, clock, onTrouble);
    // Redis may have done what it did not answer: twice would give back more than was counted.
    this.#returned = createOwed(
      { ask: (...args) => this.#turns.ask(...args), ready: () => this.#link.ready() },
      'giveBack',
      ['unsent'],
    );
    this.#unlimited = new Unlimited(this.#leases, (...args) => this.#turns.ask(...args));
    this.#takes = createTakes(this.#turns, this.#plans);
    this.tally = createRedisTally(this.#link);
    const hints = createRedisHints({ link: this.#link, server, booksId });
    this.hints = hints;
    this.#closeHints = hints.close;
    this.#seeding = createSeeding({ link: this.#link, books, rules, onTrouble });
    this.#settlements = createSettlements(
      { ready: () => this.#link.ready(), turns: this.#turns, takes: this.#takes, plans: this.#plans },
      this.#seeding,
      () => clock.monotonicMs(),
    );
    this.#sweep = createSweep(this.#link, books, this.#settlements);
  }

  /** For a start: can admit, unless Redis is away for longer than counters take that begin anew. */
  static begun(options: RedisCountersOptions): Promise<RedisCounters> {
    const counters = new RedisCounters(options);
    return new Promise((resolve) => {
      const late = setTimeout(resolve, startMaxMs, counters);
      void counters
        .whenReady()
        .then(() => resolve(counters))
        .finally(() => clearTimeout(late));
    });
  }

  enter(entry: port.Entry): port.EntryAnswer | Promise<port.EntryAnswer> {
    const places = this.#unlimited.limitedOf(entry.places);
    if (places === entry.places) return this.#enterLimited(entry);
    const answer = this.#enterLimited({ ...entry, places });
    const entered = (late: port.EntryAnswer): port.EntryAnswer => {
      if (late.kind !== 'entered') return late;
      const end = this.#unlimited.add(entry);
      return {
        ...late,
        leave() {
          late.leave();
          end();
        },
      };
    };
    return answer instanceof Promise ? answer.then(entered) : entered(answer);
  }

  #enterLimited(entry: port.Entry): port.EntryAnswer | Promise<port.EntryAnswer> {
    const counted = this.#unlimited.count(entry.places);
    return counted === null ? this.#enterCounted(entry) : counted.then(() => this.#enterCounted(entry));
  }

  #enterCounted(entry: port.Entry): port.EntryAnswer | Promise<port.EntryAnswer> {
    if (entry.limits.length === 0 && entry.places.length === 0)
      return { kind: 'entered', states: [], leave: nothingToLeave };
    const over = this.#knownOver.find(entry.limits, () => entry.callMilli, 'fresh');
    return over ?? this.#enterLeased(entry) ?? this.#enter(entry);
  }

  hold(hold: port.Hold): port.Held | port.Full | Promise<port.Held | port.Full | port.Unavailable> {
    const needs = needsOf(hold);
    return this.#knownOver.find(hold.limits, needs, 'fresh') ?? this.#holdLeased(hold) ?? this.#hold(hold, needs);
  }

  /** Without Redis: a place that another request has left, and calls of a lease. */
  #enterLeased(entry: port.Entry): port.EntryAnswer | null {
    const { account, limits, places, callMilli } = entry;
    const leave = places.length === 0 ? nothingToLeave : this.#slots.take(places);
    if (leave === null) return null;
    if (limits.length === 0) return { kind: 'entered', states: [], leave };
    const lease = this.#headroom.take('enter', account, this.#plans.enter(entry), callMilli);
    if (lease === null) {
      leave();
      return null;
    }
    return { kind: 'entered', states: statesAfter(lease, 'enter', limits, []), leave };
  }

  #holdLeased(hold: port.Hold): port.Held | null {
    const { requestId, account, scopes, costMilli, limits } = hold;
    const lease = this.#headroom.take('hold', account, this.#plans.hold(hold), costMilli, scopes);
    if (lease === null) return null;
    const { quotaMs } = lease;
    const states = statesAfter(lease, 'hold', limits, hold.states ?? []);
    const bookByMs = lease.sentMs + bookedMaxMs;
    const held: port.Held = { kind: 'held', requestId, account, scopes, costMilli, quotaMs, states, bookByMs };
    this.#takes.take(held, lease);
    return held;
  }

  async #hold(
    hold: port.Hold,
    needs: (limit: port.Limit) => number,
  ): Promise<port.Held | port.Full | port.Unavailable> {
    const { requestId, account, costMilli, limits } = hold;
    const held = await this.#ask('hold', account, this.#plans.hold(hold), [requestId, String(costMilli)]);
    const { answer, sentMs, behind, behindSum } = held;
    this.#sweep.used(account);
    if (answer === 'unknown') this.#settlements.settle(hold, { costMilli: 0, tokens: 0, usdNano: 0 });
    if (typeof answer === 'string') return this.#knownOver.find(limits, needs, 'stale') ?? unavailable;
    if (answer[0] === full) return this.#learnt(answer, sentMs, limits, [], needs);
    return {
      kind: 'held',
      requestId,
      account,
      scopes: hold.scopes,
      costMilli,
      quotaMs: answer[1] as number,
      states: statesBefore(answer, 2, limits, ({ measure }) =>
        measure === 'units' ? behindSum : measure === 'calls' ? behind * tierCallMilli : 0,
      ),
      bookByMs: sentMs + bookedMaxMs,
    };
  }

  settle(held: port.Held, spent: port.Spent): void {
    if (spent.costMilli < held.costMilli) this.#knownOver.freed(held.scopes);
    this.#headroom.spent(held.scopes, spent);
    this.#settlements.settle(held, spent);
  }

  giveBack({ account, scopes, costMilli, tokens, usdNano, quotaMs, settledMs }: port.Returned): void {
    const amounts = [costMilli, tokens, usdNano, quotaMs, settledMs].map(String);
    // Scope by scope: one that must be seeded gets the amount from the ledger, and the others still count it. Where
    // Redis is lost, the amount counts until it leaves its windows, or until Redis begins anew.
    for (const scope of scopes)
      this.#returned.send({ keys: [openKey(account), scopeKey(account, scope)], args: [] }, amounts);
    this.#knownOver.freed(scopes);
  }

  async read(account: string, limits: readonly port.Limit[]): Promise<readonly port.LimitState[]> {
    // Swept like an account that calls: otherwise requests of a dead process would be shown until its next request.
    this.#sweep.used(account);
    const { answer } = await this.#ask('read', account, readPlan(account, limits, this.#wallMs()), []);
    return statesOf(known(answer), 1);
  }

  async running(account: string, scopes: readonly port.Scope[]): Promise<readonly number[]> {
    const keys = scopes.map((scope) => placesKey(account, scope));
    const { answer } = await this.#turns.ask('running', { keys, args: [] }, []);
    const limited = known(answer).slice(1) as number[];
    // Redis knows no requests that nothing limits. Of those, this process knows its own.
    return scopes.map((scope, at) => (limited[at] ?? 0) + this.#unlimited.runningIn(scope));
  }

  trouble(): string | null {
    return this.#link.trouble();
  }

  /** No server answers; false as soon as one does, though it may not admit yet. */
  lost(): boolean {
    return this.#link.lost();
  }

  /** Requests were admitted elsewhere: Redis begins anew, from the ledger, before it admits again. */
  distrust(): void {
    this.#link.distrust();
  }

  /** Resolves when requests can be admitted for the first time. */
  whenReady(): Promise<void> {
    return this.#link.whenReady();
  }

  /**
   * Looks for requests that nobody will end, and for limits of places that others have learnt of. It also runs every
   * 10 s without a call.
   */
  async sweep(): Promise<void> {
    await Promise.all([this.#sweep.run(), this.#unlimited.look()]);
  }

  async close(): Promise<void> {
    this.#closeHints();
    this.#slots.close();
    this.#unlimited.close();
    // Behind all that was given back, and the ends of requests whose beginnings are on their way.
    const before = Promise.all([this.#headroom.close(), this.#takes.settled()]);
    const last = before.then(() => this.#turns.ask('running', { keys: [], args: [] }, []));
    await withinMs(closeMaxMs, last, null);
    this.#leases.close();
    this.#returned.close();
    this.#settlements.close();
    this.#sweep.close();
    this.#link.close();
  }

  /** Asks, seeds what Redis does not count yet, and asks again. */
  async #ask(name: OperationName, account: string, plan: ScopedPlan, values: readonly string[]): Promise<TurnAnswer> {
    const untilMs = this.#clock.monotonicMs() + seedWaitMaxMs;
    for (let seeds = 0; ; seeds++) {
      const turn = await this.#turns.ask(name, plan, values);
      const { answer } = turn;
      if (typeof answer === 'string' || answer[0] !== needsSeed) return turn;
      if (seeds === seedsPerAskMax) return { ...turn, answer: 'unsent' };
      const missing = answer.slice(1).map((place) => plan.scopes[(place as number) - 1]!);
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (!(await withinMs(leftMs, this.#seeding.ensure(account, missing), false)))
        return { ...turn, answer: 'unsent' };
    }
  }

  #learnt(
    answer: readonly Reply[],
    sentMs: number,
    limits: readonly port.Limit[],
    places: port.Entry['places'],
    needs: (limit: port.Limit) => number,
  ): port.Full {
    const over = fullOf(answer, [...limits, ...places]);
    const limit = limits[(answer[1] as number) - 1];
    const when = { redisNowMs: answer[4] as number, answeredInMs: this.#clock.monotonicMs() - sentMs };
    if (limit !== undefined) this.#knownOver.learn(over, limit, limits, needs(limit), when);
    return over;
  }

  async #enter(entry: port.Entry): Promise<port.EntryAnswer> {
    const { requestId, account, callMilli, limits, places } = entry;
    const values = [requestId, String(callMilli)];
    const { answer, sentMs, behindSum } = await this.#ask('enter', account, this.#plans.enter(entry), values);
    const set = this.#plans.places(account, places);
    if (answer === 'unknown') this.#leases.giveBack(set, requestId);
    if (typeof answer === 'string') return this.#knownOver.find(limits, () => callMilli, 'stale') ?? unavailable;
    if (answer[0] === full) return this.#learnt(answer, sentMs, limits, places, () => callMilli);
    const states = statesBefore(answer, 1, limits, () => behindSum);
    if (places.length === 0) return { kind: 'entered', states, leave: nothingToLeave };
    const running = answer.slice(1 + 2 * limits.length) as number[];
    return { kind: 'entered', states, leave: this.#slots.granted(places, running, this.#leases.held(set, requestId)) };
  }
}

function nothingToLeave(): void {}

/** The amount that a hold takes of each limit. */
function needsOf({ costMilli }: port.Hold): (limit: port.Limit) => number {
  return ({ measure }) => (measure === 'units' ? costMilli : measure === 'calls' ? tierCallMilli : 0);
}

function known(answer: Answer): readonly Reply[] {
  if (typeof answer === 'string')
    throw new FailureError({ kind: 'quota-unavailable', message: `Quota is unavailable: ${unavailable.reason}.` });
  return answer;
}

import type {
  Counters,
  Entry,
  EntryAnswer,
  Full,
  Held,
  Hold,
  Limit,
  LimitState,
  QuotaBooks,
  Returned,
  Scope,
  Spent,
  Unavailable,
} from '../../books/metering/counters.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { bookedMaxMs, seedWaitMaxMs } from '../patience.ts';
import { openKey, placesKey, scopeKey } from './keys.ts';
import { createKnownOver, type KnownOver } from './known-over.ts';
import { createLeases, type Leases } from './leases.ts';
import { allowedOnWire, fullOf, placeOf, spanOnWire, statesOf } from './limits-on-wire.ts';
import { type Answer, Link } from './link.ts';
import { enterScript, giveBackScript, holdScript, readScript, settleScript } from './lua-admit.ts';
import { leaveScript, pulseScript, renewScript, runningScript } from './lua-leases.ts';
import { beginSeedScript, forgetScript, oldScript, seedScript } from './lua-seed.ts';
import type { Script } from './script.ts';
import type { SeedFacts } from './seed-fields.ts';
import { createSeeding, type Seeding } from './seeding.ts';
import { createSettlements, type Settlements } from './settlements.ts';
import { createSweep, type Sweep } from './sweep.ts';
import { createRedisTally, tallyScript } from './tally.ts';
import type { Reply } from './wire.ts';

/** Milli-calls of a hold in a tier's calls a minute. */
const tierCallMilli = 1_000;

/** A scope may be lost again behind its seed; not for ever. */
const seedsPerAskMax = 3;

const scripts: readonly Script[] = [
  enterScript,
  holdScript,
  readScript,
  settleScript,
  giveBackScript,
  renewScript,
  leaveScript,
  runningScript,
  pulseScript,
  beginSeedScript,
  seedScript,
  oldScript,
  forgetScript,
  tallyScript,
];

const full = 1;
const needsSeed = 3;

const unavailable: Unavailable = {
  kind: 'unavailable',
  reason: 'the quota counters cannot be asked right now',
};

export interface RedisCountersOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]` */
  url: string;
  /**
   * Id of this ledger for ever: counters of other ledgers in this Redis are not ours. It has neither braces nor spaces.
   */
  booksId: string;
  /** The ledger that all processes over these counters share. */
  books: QuotaBooks;
  /** Functions of books/metering/scope.ts. */
  rules: Pick<SeedFacts, 'scopesOf' | 'callMilliIn'>;
  clock: Clock;
  /** For the operator's log: that nothing can be admitted, and that it can again. */
  onTrouble: (message: string) => void;
  /** Replaces the server's time, for tests. */
  nowMs?: () => number;
}

/**
 * Counters that many processes share. They connect, and connect again for ever, without a call. Until the first
 * connection, and whenever Redis is away, slow or has lost its memory, the answer is `unavailable`: admission fails
 * closed.
 */
export class RedisCounters implements Counters {
  /** Counts apart from limits. */
  readonly tally: SharedTally;
  readonly #clock: Clock;
  readonly #knownOver: KnownOver;
  readonly #leases: Leases;
  readonly #link: Link;
  readonly #seeding: Seeding;
  readonly #settlements: Settlements;
  readonly #sweep: Sweep;

  constructor({ url, booksId, books, rules, clock, onTrouble, nowMs }: RedisCountersOptions) {
    this.#clock = clock;
    this.#knownOver = createKnownOver(nowMs ?? (() => clock.monotonicMs()));
    this.#leases = createLeases(() => this.#link);
    this.#link = new Link({
      url,
      booksId,
      clock,
      scripts,
      onTrouble,
      ...(nowMs === undefined ? {} : { nowMs }),
      beforeEpoch: (run) => this.#leases.takeAgain(run),
      onReady: () => {
        // It may begin with less than was counted before.
        this.#knownOver.forget();
        this.#leases.onReady();
        this.#settlements.onReady();
      },
    });
    this.tally = createRedisTally(this.#link);
    this.#seeding = createSeeding({ link: this.#link, books, rules, onTrouble });
    this.#settlements = createSettlements(this.#link, this.#seeding, () => clock.monotonicMs());
    this.#sweep = createSweep(this.#link, books, this.#settlements);
  }

  enter(entry: Entry): EntryAnswer | Promise<EntryAnswer> {
    if (entry.limits.length === 0 && entry.places.length === 0) return { kind: 'entered', states: [], leave: () => {} };
    return this.#knownOver.find(entry.limits, () => entry.callMilli, 'certain') ?? this.#enter(entry);
  }

  async hold(hold: Hold): Promise<Held | Full | Unavailable> {
    const { requestId, account, costMilli, limits } = hold;
    const needs = ({ measure }: Limit) => (measure === 'units' ? costMilli : measure === 'calls' ? tierCallMilli : 0);
    const over = this.#knownOver.find(limits, needs, 'certain');
    if (over !== null) return over;
    const scopes = [...hold.scopes];
    const asked = limits.flatMap((limit) => [
      placeOf(limit.scope, scopes),
      ...spanOnWire(limit),
      allowedOnWire(limit.allowed),
      limit.rule,
    ]);
    let sentMs = 0;
    const answer = await this.#ask(
      holdScript,
      account,
      scopes,
      [],
      [
        requestId,
        String(costMilli),
        String(hold.scopes.length),
        hold.scopes.join('\n'),
        String(scopes.length),
        String(tierCallMilli),
        ...asked,
      ],
      (atMs) => {
        sentMs = atMs;
      },
    );
    this.#sweep.used(account);
    if (answer === 'unknown') this.#settlements.settle(hold, { costMilli: 0, tokens: 0, usdNano: 0 });
    if (typeof answer === 'string') return this.#knownOver.find(limits, needs, 'any') ?? unavailable;
    if (answer[0] === full) return this.#learnt(answer, limits, [], needs);
    return {
      kind: 'held',
      requestId,
      account,
      scopes: hold.scopes,
      costMilli,
      quotaMs: answer[1] as number,
      states: statesOf(answer, 2),
      bookByMs: sentMs + bookedMaxMs,
    };
  }

  settle(held: Held, spent: Spent): void {
    this.#settlements.settle(held, spent);
  }

  giveBack({ account, scopes, costMilli, usdNano, quotaMs, settledMs }: Returned): void {
    const amounts = [costMilli, usdNano, quotaMs, settledMs].map(String);
    // One by one: a scope that must be seeded has it from the ledger already, and the others still count it. Where Redis
    // is away, it counts on until it leaves its windows, or until Redis begins anew.
    for (const scope of scopes) {
      void this.#link.run(giveBackScript, [openKey(account), scopeKey(account, scope)], ['-', ...amounts]);
    }
    this.#knownOver.forget();
  }

  async read(account: string, limits: readonly Limit[]): Promise<readonly LimitState[]> {
    const scopes: Scope[] = [];
    const asked = limits.flatMap((limit) => [placeOf(limit.scope, scopes), ...spanOnWire(limit)]);
    // Looked at, too: what a dead process left would be shown until the account's next request.
    this.#sweep.used(account);
    return statesOf(known(await this.#ask(readScript, account, scopes, [], ['-', String(scopes.length), ...asked])), 1);
  }

  async running(account: string, scopes: readonly Scope[]): Promise<readonly number[]> {
    const keys = scopes.map((scope) => placesKey(account, scope));
    return known(await this.#link.run(runningScript, keys, [])).slice(1) as number[];
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

  /** Looks for requests that nobody will end. It also runs every 10 s without a call. */
  sweep(): Promise<void> {
    return this.#sweep.run();
  }

  async close(): Promise<void> {
    this.#leases.close();
    this.#settlements.close();
    this.#sweep.close();
    this.#link.close();
  }

  /** Asks, seeds what Redis does not count yet, and asks again. `onSend` gets the instant of each sending. */
  async #ask(
    script: Script,
    account: string,
    scopes: readonly Scope[],
    places: readonly string[],
    args: readonly string[],
    onSend: (atMs: number) => void = () => {},
  ): Promise<Answer> {
    const keys = [openKey(account), ...scopes.map((scope) => scopeKey(account, scope)), ...places];
    const untilMs = this.#clock.monotonicMs() + seedWaitMaxMs;
    for (let seeds = 0; ; seeds++) {
      onSend(this.#clock.monotonicMs());
      const answer = await this.#link.run(script, keys, args);
      if (typeof answer === 'string' || answer[0] !== needsSeed) return answer;
      if (seeds === seedsPerAskMax) return 'unsent';
      const missing = answer.slice(1).map((place) => scopes[(place as number) - 1]!);
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (!(await within(this.#seeding.ensure(account, missing), leftMs))) return 'unsent';
    }
  }

  #learnt(
    answer: readonly Reply[],
    limits: readonly Limit[],
    places: Entry['places'],
    needs: (limit: Limit) => number,
  ): Full {
    const over = fullOf(answer, [...limits, ...places]);
    const limit = limits[(answer[1] as number) - 1];
    if (limit !== undefined) this.#knownOver.learn(over, limit, limits, needs(limit), answer[4] as number);
    return over;
  }

  async #enter(entry: Entry): Promise<EntryAnswer> {
    const { requestId, account, callMilli, limits, places } = entry;
    const scopes: Scope[] = [];
    const asked = limits.flatMap((limit) => {
      spanOnWire(limit);
      return [placeOf(limit.scope, scopes), allowedOnWire(limit.allowed)];
    });
    const answer = await this.#ask(
      enterScript,
      account,
      scopes,
      places.map((place) => placesKey(account, place.scope)),
      [
        requestId,
        String(callMilli),
        String(scopes.length),
        String(limits.length),
        ...asked,
        ...places.map(({ allowed }) => allowedOnWire(allowed)),
      ],
    );
    const placeScopes = places.map(({ scope }) => scope);
    if (answer === 'unknown') this.#leases.giveBack(account, placeScopes, requestId);
    if (typeof answer === 'string') return this.#knownOver.find(limits, () => callMilli, 'any') ?? unavailable;
    if (answer[0] === full) return this.#learnt(answer, limits, places, () => callMilli);
    return {
      kind: 'entered',
      states: statesOf(answer, 1),
      leave: places.length === 0 ? () => {} : this.#leases.held(account, placeScopes, requestId),
    };
  }
}

function known(answer: Answer): readonly Reply[] {
  if (typeof answer === 'string')
    throw new FailureError({ kind: 'quota-unavailable', message: `Quota is unavailable: ${unavailable.reason}.` });
  return answer;
}

/** False when it takes longer. */
function within(promise: Promise<boolean>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void promise.then(resolve).finally(() => clearTimeout(timer));
  });
}

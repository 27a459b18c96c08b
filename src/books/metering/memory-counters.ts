import { BriefMap } from '../../kernel/brief.ts';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { milliPerCall } from './counter-scope.ts';
import type * as port from './counters.ts';
import { LoadedScopes, loadedScopesMax, ScopesFull } from './loaded-scopes.ts';
import { CalendarSum, QuotaClock, type RollingScope, type RollingSum } from './rolling-sum.ts';
import { type Span, spans } from './window.ts';

/** Maximum number of concurrent requests that hold units: far more than a process can serve. */
export const holdsMax = 100_000;

export interface MemoryCountersOptions {
  clock: Clock;
  /** Source of the past at a scope's first request. When the ledger answers at once, so does this. */
  books: Pick<port.QuotaBooks, 'buckets' | 'recentCalls'>;
  /** Divisor n: this process enforces 1/n of every limit (rounded down), and n − 1 others do the same. 1 if absent. */
  share?: () => number;
  /** Quota time begins here at the earliest: `newestBucketMs` of the books. */
  startMs?: number;
  scopesMax?: number;
}

const booksUnreadable: port.Unavailable = { kind: 'unavailable', reason: 'the usage records cannot be read' };
const tooMany: port.Unavailable = { kind: 'unavailable', reason: 'too many requests or keys are active at once' };

/** The counters of one process: exact, and answering without a promise once a scope's past is known. */
export class MemoryCounters implements port.Counters {
  readonly #clock: QuotaClock;
  readonly #share: (() => number) | undefined;
  readonly #scopes: LoadedScopes;
  readonly #open = new BriefMap<port.Held>();
  /**
   * State by which lists of limits, places and scopes are counted. The same lists come with every request of a caller,
   * so each is looked up once. All of it is dropped when a scope is forgotten, so that nothing counts in a forgotten
   * scope.
   */
  #bindings = new WeakMap<readonly unknown[], readonly unknown[]>();
  #forgotten = 0;

  constructor(options: MemoryCountersOptions) {
    this.#clock = new QuotaClock(options.clock);
    this.#clock.startAt(options.startMs ?? 0);
    this.#share = options.share;
    const share = options.share ?? (() => 1);
    const scopesMax = options.scopesMax ?? loadedScopesMax;
    this.#scopes = new LoadedScopes({ clock: this.#clock, books: options.books, share, scopesMax });
  }

  enter(entry: port.Entry): port.EntryAnswer | Promise<port.EntryAnswer> {
    const limits = this.#bound(entry.limits, boundLimit);
    const places = this.#bound(entry.places, boundPlace);
    if (limits === null || places === null) {
      const scopes = [...entry.limits, ...entry.places].map(({ scope }) => scope);
      return this.#whenLoaded(entry.account, scopes, () => this.enter(entry));
    }
    const nowMs = this.#clock.nowMs();
    const full =
      this.#refusedBy(nowMs, limits, entry.callMilli, 0) ?? (places.length === 0 ? null : this.#withoutPlace(places));
    if (full !== null) return full;
    countCalls(nowMs, limits, entry.callMilli);
    for (const { scope, first } of places) {
      if (!first) continue;
      scope.lastUsedMs = nowMs;
      scope.running++;
    }
    let left = false;
    return {
      kind: 'entered',
      states: this.#statesOf(nowMs, limits, new Array(limits.length)),
      leave() {
        if (left) return;
        left = true;
        for (const { scope, first } of places) if (first) scope.running--;
      },
    };
  }

  hold(hold: port.Hold): port.Held | port.Full | port.Unavailable | Promise<port.Held | port.Full | port.Unavailable> {
    const limits = this.#bound(hold.limits, boundLimit);
    const counted = this.#bound(hold.scopes, loadedScope);
    if (limits === null || counted === null) {
      const needed = [...hold.scopes, ...hold.limits.map(({ scope }) => scope)];
      return this.#whenLoaded(hold.account, needed, () => this.hold(hold));
    }
    const { requestId, account, scopes, costMilli } = hold;
    const known = this.#open.get(requestId);
    if (known !== undefined) return known;
    if (this.#open.size >= holdsMax) return tooMany;
    const nowMs = this.#clock.nowMs();
    const full = this.#refusedBy(nowMs, limits, milliPerCall.one, costMilli);
    if (full !== null) return full;
    countCalls(nowMs, limits, milliPerCall.one);
    for (const scope of counted) {
      scope.lastUsedMs = nowMs;
      scope.holds++;
      scope.addUnits(nowMs, costMilli);
    }
    const states = this.#statesOf(nowMs, limits, hold.states ?? []);
    const held: port.Held = { kind: 'held', requestId, account, scopes, costMilli, quotaMs: nowMs, states };
    this.#open.set(requestId, held);
    return held;
  }

  settle({ requestId }: port.Held, spent: port.Spent): void {
    const hold = this.#open.take(requestId);
    if (hold === undefined) return;
    const nowMs = this.#clock.nowMs();
    // A scope that holds something is never forgotten.
    const scopes = this.#bound(hold.scopes, loadedScope)!;
    const backMilli = hold.costMilli - spent.costMilli;
    for (const scope of scopes) {
      scope.holds--;
      scope.lastUsedMs = nowMs;
      if (backMilli > 0) scope.removeUnits(nowMs, hold.quotaMs, backMilli);
      scope.addSpent(nowMs, spent.tokens, spent.usdNano);
    }
  }

  giveBack({ scopes, costMilli, tokens, usdNano, quotaMs, settledMs }: port.Returned): void {
    const nowMs = this.#clock.nowMs();
    for (const name of scopes) {
      const scope = this.#scopes.get(name);
      scope?.removeUnits(nowMs, quotaMs, costMilli);
      scope?.removeSpent(nowMs, settledMs, tokens, usdNano);
    }
  }

  async read(account: string, limits: readonly port.Limit[]): Promise<readonly port.LimitState[]> {
    const scopes = limits.map(({ scope }) => scope);
    const answer = await this.#whenLoaded(account, scopes, () =>
      this.#statesOf(this.#clock.nowMs(), this.#bound(limits, boundLimit)!, []),
    );
    if ('kind' in answer) throw new FailureError({ kind: 'quota-unavailable', message: answer.reason });
    return answer;
  }

  async running(_account: string, scopes: readonly port.Scope[]): Promise<readonly number[]> {
    return scopes.map((name) => this.#scopes.get(name)?.running ?? 0);
  }

  /** Books that cannot be read are the ledger's trouble, and concern only scopes that are not loaded. */
  trouble(): null {
    return null;
  }

  async close(): Promise<void> {}

  /** Present contents of the memory. */
  gauges(): { scopes: number; holds: number } {
    return { scopes: this.#scopes.size(), holds: this.#open.size };
  }

  /** `answer` once all of these are loaded: at once where the books answer at once. */
  #whenLoaded<A>(
    account: string,
    scopes: readonly port.Scope[],
    answer: () => A | Promise<A>,
  ): A | port.Unavailable | Promise<A | port.Unavailable> {
    const loaded = () => {
      if (scopes.some((name) => this.#scopes.get(name) === undefined)) throw new Error('a loaded scope is missing');
      return answer();
    };
    let wait: Promise<void> | undefined;
    try {
      wait = this.#scopes.load(account, scopes);
    } catch (error) {
      return unavailableFor(error);
    }
    if (wait === undefined) return loaded();
    return wait.then(loaded, unavailableFor);
  }

  /** Null where one of the list is not loaded. */
  #bound<Item, Bound>(
    list: readonly Item[],
    bind: (scopes: LoadedScopes, item: Item, earlier: readonly Item[]) => Bound | null,
  ): readonly Bound[] | null {
    if (this.#forgotten !== this.#scopes.forgotten) {
      this.#bindings = new WeakMap();
      this.#forgotten = this.#scopes.forgotten;
    }
    const there = this.#bindings.get(list);
    if (there !== undefined) return there as readonly Bound[];
    const made: Bound[] = [];
    for (const [at, item] of list.entries()) {
      const one = bind(this.#scopes, item, list.slice(0, at));
      if (one === null) return null;
      made.push(one);
    }
    this.#bindings.set(list, made);
    return made;
  }

  /** Null when all let it pass; else the limit that frees last. A call takes `callMilli`, a unit limit `costMilli`. */
  #refusedBy(nowMs: number, limits: readonly BoundLimit[], callMilli: number, costMilli: number): port.Full | null {
    let full: port.Full | null = null;
    let lastMs = 0;
    const share = this.#share === undefined ? 1 : this.#share();
    for (const { limit, sum, span } of limits) {
      const used = sum.usedAt(nowMs, span);
      const allowed = share <= 1 ? limit.allowed : Math.floor(limit.allowed / share);
      const cost = limit.measure === 'units' ? costMilli : limit.measure === 'calls' ? callMilli : 0;
      // Amounts are whole: used < allowed is the same as used + 1 ≤ allowed.
      const excess = used + (limit.rule === 'exact' ? cost : 1) - allowed;
      if (excess <= 0) continue;
      const freeMs = sum.freeAtMs(nowMs, span, excess);
      if (full !== null && (freeMs ?? Number.POSITIVE_INFINITY) <= lastMs) continue;
      lastMs = freeMs ?? Number.POSITIVE_INFINITY;
      const freeAtMs = freeMs === null ? null : this.#clock.toWallMs(freeMs);
      full = { kind: 'full', limit: limit.id, scope: limit.scope, used, allowed, freeAtMs };
    }
    return full;
  }

  #withoutPlace(places: readonly BoundPlace[]): port.Full | null {
    const share = this.#share === undefined ? 1 : this.#share();
    for (const { place, scope } of places) {
      const allowed = share <= 1 ? place.allowed : Math.floor(place.allowed / share);
      const used = scope.running;
      if (used + 1 > allowed)
        return { kind: 'full', limit: place.id, scope: place.scope, used, allowed, freeAtMs: null };
    }
    return null;
  }

  /** Written over `states`, the answer. */
  #statesOf(nowMs: number, limits: readonly BoundLimit[], states: port.LimitState[]): port.LimitState[] {
    const { aheadMs } = this.#clock;
    // V8 makes a separate call to set a length, even if it is the same.
    if (states.length !== limits.length) states.length = limits.length;
    let at = 0;
    for (const { sum, span } of limits) {
      const state = states[at] ?? { used: 0, leavesAtMs: null };
      sum.writeState(state, nowMs, span, aheadMs);
      states[at++] = state;
    }
    return states;
  }
}

function unavailableFor(error: unknown): port.Unavailable {
  return error instanceof ScopesFull ? tooMany : booksUnreadable;
}

/** A limit and where it is counted. */
interface BoundLimit {
  limit: port.Limit;
  scope: RollingScope;
  sum: Pick<RollingSum, 'usedAt' | 'writeState' | 'freeAtMs'>;
  span: Span;
  /** No earlier one of the list looks at the same scope. */
  first: boolean;
}

/** A place among the running requests, and where it is counted. */
interface BoundPlace {
  place: port.Entry['places'][number];
  scope: RollingScope;
  first: boolean;
}

function boundLimit(scopes: LoadedScopes, limit: port.Limit, earlier: readonly port.Limit[]): BoundLimit | null {
  const scope = scopes.get(limit.scope);
  if (scope === undefined) return null;
  const counted = scope.sumOf(limit.measure, limit.span);
  const ofPeriod = limit.period === undefined ? counted : new CalendarSum(counted, limit.period, scopes.clock);
  const sum = limit.isForEver === true ? scope.usdEver : ofPeriod;
  return { limit, scope, sum, span: spans[limit.span], first: isFirst(limit, earlier) };
}

function boundPlace(
  scopes: LoadedScopes,
  place: BoundPlace['place'],
  earlier: port.Entry['places'],
): BoundPlace | null {
  const scope = scopes.get(place.scope);
  return scope === undefined ? null : { place, scope, first: isFirst(place, earlier) };
}

function loadedScope(scopes: LoadedScopes, name: port.Scope): RollingScope | null {
  return scopes.get(name) ?? null;
}

/** True if no earlier one of the list has the same scope. Lists are short. */
function isFirst({ scope }: { scope: port.Scope }, earlier: readonly { scope: port.Scope }[]): boolean {
  return !earlier.some((one) => one.scope === scope);
}

/** Calls count once in a scope, however many limits look at it. */
function countCalls(nowMs: number, limits: readonly BoundLimit[], callMilli: number): void {
  for (const { limit, scope, first } of limits) {
    if (limit.measure !== 'calls' || !first) continue;
    scope.lastUsedMs = nowMs;
    scope.addCalls(nowMs, callMilli);
  }
}

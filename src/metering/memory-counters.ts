import type { Clock } from '../kernel/clock.ts';
import { FailureError } from '../kernel/failure.ts';
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
  Scope,
  Spent,
  Unavailable,
} from './counters.ts';
import {
  createQuotaClock,
  createRollingScopes,
  loadedScopesMax,
  type RollingScope,
  type RollingScopes,
  ScopesFull,
} from './rolling-scope.ts';
import type { RollingSum } from './rolling-sum.ts';
import { milliPerCall } from './scope.ts';
import { type Span, spans } from './window.ts';

/** Running requests that hold units at one time: far more than a process can serve. */
export const holdsMax = 100_000;
export interface MemoryCountersOptions {
  clock: Clock;
  /** Where the past is read from, at a scope's first request. Books that answer at once are answered by at once. */
  books: Pick<QuotaBooks, 'buckets' | 'recentCalls'>;
  /** Enforce 1/n of every limit (rounded down), beside n − 1 others that do the same. 1 when absent. */
  share?: () => number;
  /** Quota time begins here at the earliest: `newestBucketMs` of the books. */
  startMs?: number;
  scopesMax?: number;
}

interface OpenHold {
  held: Held;
  scopes: readonly RollingScope[];
}

const booksUnreadable: Unavailable = { kind: 'unavailable', reason: 'the usage records cannot be read' };
const tooMany: Unavailable = { kind: 'unavailable', reason: 'too many requests or keys are active at once' };
const noStates: readonly LimitState[] = [];

/** The counters of one process: exact, and answering without a promise once a scope's past is known. */
export function createMemoryCounters(options: MemoryCountersOptions): Counters & { gauges(): MemoryGauges } {
  const clock = createQuotaClock(options.clock);
  clock.startAt(options.startMs ?? 0);
  const share = options.share ?? (() => 1);
  const scopesMax = options.scopesMax ?? loadedScopesMax;
  const table = createRollingScopes({ clock, books: options.books, share, scopesMax });
  const bindings = createScopeBindings(table);
  const open = new Map<string, OpenHold>();

  function allowedOf(allowed: number): number {
    const parts = share();
    return parts <= 1 ? allowed : Math.floor(allowed / parts);
  }

  /** Null when all let it pass; else the limit that frees last. A call takes `callMilli`, a unit limit `costMilli`. */
  function refusedBy(nowMs: number, limits: readonly BoundLimit[], callMilli: number, costMilli: number): Full | null {
    let full: Full | null = null;
    let lastMs = 0;
    for (let i = 0; i < limits.length; i++) {
      const { limit, sum, span } = limits[i]!;
      const used = sum.usedAt(nowMs, span);
      const allowed = allowedOf(limit.allowed);
      const cost = limit.measure === 'units' ? costMilli : limit.measure === 'calls' ? callMilli : 0;
      // Amounts are whole: used < allowed is the same as used + 1 ≤ allowed.
      const excess = used + (limit.rule === 'exact' ? cost : 1) - allowed;
      if (excess <= 0) continue;
      const freeMs = sum.freeAtMs(nowMs, span, excess);
      if (full !== null && (freeMs ?? Number.POSITIVE_INFINITY) <= lastMs) continue;
      lastMs = freeMs ?? Number.POSITIVE_INFINITY;
      const freeAtMs = freeMs === null ? null : clock.toWallMs(freeMs);
      full = { kind: 'full', limit: limit.id, scope: limit.scope, used, allowed, freeAtMs };
    }
    return full;
  }

  function statesOf(nowMs: number, limits: readonly BoundLimit[]): readonly LimitState[] {
    if (limits.length === 0) return noStates;
    const states: LimitState[] = [];
    for (let i = 0; i < limits.length; i++) {
      const { sum, span } = limits[i]!;
      const leavesMs = sum.leavesAtMs(nowMs, span);
      states.push({ used: sum.usedAt(nowMs, span), leavesAtMs: leavesMs === null ? null : clock.toWallMs(leavesMs) });
    }
    return states;
  }

  /** Calls count once in a scope, however many limits look at it. */
  function countCalls(nowMs: number, limits: readonly BoundLimit[], callMilli: number): void {
    for (let i = 0; i < limits.length; i++) {
      const { limit, scope, first } = limits[i]!;
      if (limit.measure !== 'calls' || !first) continue;
      scope.lastUsedMs = nowMs;
      scope.addCalls(nowMs, callMilli);
    }
  }

  /** Null: something of it is not loaded. */
  function enterLoaded(entry: Entry): EntryAnswer | null {
    const limits = bindings.limits(entry.limits);
    const places = bindings.places(entry.places);
    if (limits === null || places === null) return null;
    const nowMs = clock.nowMs();
    const full = refusedBy(nowMs, limits, entry.callMilli, 0) ?? withoutPlace(places);
    if (full !== null) return full;
    countCalls(nowMs, limits, entry.callMilli);
    for (const { counted, first } of places) {
      if (!first) continue;
      counted.lastUsedMs = nowMs;
      counted.running++;
    }
    let left = false;
    return {
      kind: 'entered',
      states: statesOf(nowMs, limits),
      leave() {
        if (left) return;
        left = true;
        for (const { counted, first } of places) if (first) counted.running--;
      },
    };
  }

  function withoutPlace(places: readonly BoundPlace[]): Full | null {
    for (const { id, scope, allowed, counted } of places) {
      const used = counted.running;
      const share = allowedOf(allowed);
      if (used + 1 > share) return { kind: 'full', limit: id, scope, used, allowed: share, freeAtMs: null };
    }
    return null;
  }

  /** Null: something of it is not loaded. */
  function holdLoaded(hold: Hold): Held | Full | Unavailable | null {
    const limits = bindings.limits(hold.limits);
    const scopes = bindings.scopes(hold.scopes);
    if (limits === null || scopes === null) return null;
    const known = open.get(hold.requestId);
    if (known !== undefined) return known.held;
    if (open.size >= holdsMax) return tooMany;
    const nowMs = clock.nowMs();
    const full = refusedBy(nowMs, limits, milliPerCall.one, hold.costMilli);
    if (full !== null) return full;
    countCalls(nowMs, limits, milliPerCall.one);
    for (let i = 0; i < scopes.length; i++) {
      const scope = scopes[i]!;
      scope.lastUsedMs = nowMs;
      scope.holds++;
      scope.addUnits(nowMs, hold.costMilli);
    }
    const held: Held = {
      kind: 'held',
      requestId: hold.requestId,
      account: hold.account,
      scopes: hold.scopes,
      costMilli: hold.costMilli,
      quotaMs: nowMs,
      states: statesOf(nowMs, limits),
    };
    open.set(hold.requestId, { held, scopes });
    return held;
  }

  /** Answers at once where nothing must be loaded, or the books answer at once; else later. */
  function whenLoaded<A>(
    account: string,
    scopes: () => Scope[],
    answer: () => A | null,
  ): A | Unavailable | Promise<A | Unavailable> {
    const loaded = (): A => {
      const now = answer();
      if (now === null) throw new Error('a scope that was loaded is not there');
      return now;
    };
    let wait: Promise<void> | undefined;
    try {
      wait = table.load(account, scopes());
    } catch (error) {
      return unavailableFor(error);
    }
    if (wait === undefined) return loaded();
    return wait.then(loaded, unavailableFor);
  }

  return {
    enter(entry) {
      const names = () => [...entry.limits, ...entry.places].map(({ scope }) => scope);
      return enterLoaded(entry) ?? whenLoaded(entry.account, names, () => enterLoaded(entry));
    },
    hold(hold) {
      const names = () => [...hold.scopes, ...hold.limits.map(({ scope }) => scope)];
      return holdLoaded(hold) ?? whenLoaded(hold.account, names, () => holdLoaded(hold));
    },
    settle({ requestId }, spent: Spent) {
      const hold = open.get(requestId);
      if (hold === undefined) return;
      open.delete(requestId);
      const nowMs = clock.nowMs();
      const { held, scopes } = hold;
      const backMilli = held.costMilli - spent.costMilli;
      for (let i = 0; i < scopes.length; i++) {
        const scope = scopes[i]!;
        scope.holds--;
        scope.lastUsedMs = nowMs;
        if (backMilli > 0) scope.removeUnits(nowMs, held.quotaMs, backMilli);
        scope.addSpent(nowMs, spent.tokens, spent.usdNano);
      }
    },
    async read(account, limits) {
      const names = () => limits.map(({ scope }) => scope);
      const answer = await whenLoaded(account, names, () => {
        const known = bindings.limits(limits);
        return known === null ? null : statesOf(clock.nowMs(), known);
      });
      if ('kind' in answer) throw new FailureError({ kind: 'quota-unavailable', message: answer.reason });
      return answer;
    },
    async running(_account, scopes) {
      return scopes.map((name) => table.get(name)?.running ?? 0);
    },
    // Books that cannot be read are the ledger's trouble, and concern only scopes that are not loaded.
    trouble: () => null,
    async close() {},
    gauges: () => ({ scopes: table.size(), holds: open.size }),
  };
}

/** What stands in memory now. */
export interface MemoryGauges {
  scopes: number;
  holds: number;
}

function unavailableFor(error: unknown): Unavailable {
  return error instanceof ScopesFull ? tooMany : booksUnreadable;
}

/** A limit and where it is counted. */
interface BoundLimit {
  limit: Limit;
  scope: RollingScope;
  sum: RollingSum;
  span: Span;
  /** No earlier one of the list looks at the same scope. */
  first: boolean;
}

/** A place among the running requests, and where it is counted. */
interface BoundPlace {
  id: string;
  scope: Scope;
  allowed: number;
  counted: RollingScope;
  first: boolean;
}

/**
 * What lists of limits, places and scopes are counted by; null where one of a list is not loaded. The same lists come
 * with every request of a caller, so each is looked up once. All is dropped when a scope is forgotten: nothing
 * forgotten is kept, or counted in.
 */
interface ScopeBindings {
  limits(list: readonly Limit[]): readonly BoundLimit[] | null;
  places(list: Entry['places']): readonly BoundPlace[] | null;
  scopes(list: readonly Scope[]): readonly RollingScope[] | null;
}

function createScopeBindings(table: Pick<RollingScopes, 'get' | 'forgotten'>): ScopeBindings {
  let known = new WeakMap<readonly unknown[], readonly unknown[]>();
  let forgotten = table.forgotten();

  function bound<Item, Bound>(
    list: readonly Item[],
    bind: (item: Item, at: number, list: readonly Item[]) => Bound | null,
  ): readonly Bound[] | null {
    if (forgotten !== table.forgotten()) {
      known = new WeakMap();
      forgotten = table.forgotten();
    }
    const there = known.get(list);
    if (there !== undefined) return there as readonly Bound[];
    const made: Bound[] = [];
    for (let i = 0; i < list.length; i++) {
      const one = bind(list[i]!, i, list);
      if (one === null) return null;
      made.push(one);
    }
    known.set(list, made);
    return made;
  }

  function limitOf(limit: Limit, at: number, limits: readonly Limit[]): BoundLimit | null {
    const scope = table.get(limit.scope);
    if (scope === undefined) return null;
    const sum = scope.sumOf(limit.measure, limit.span);
    return { limit, scope, sum, span: spans[limit.span], first: !isRepeated(limits, at) };
  }

  function placeOf(place: Entry['places'][number], at: number, places: Entry['places']): BoundPlace | null {
    const counted = table.get(place.scope);
    return counted === undefined ? null : { ...place, counted, first: !isRepeated(places, at) };
  }

  const scopeOf = (name: Scope): RollingScope | null => table.get(name) ?? null;

  return {
    limits: (list) => bound(list, limitOf),
    places: (list) => bound(list, placeOf),
    scopes: (list) => bound(list, scopeOf),
  };
}

/** Whether an earlier one of the list looks at the same scope. Lists are short. */
function isRepeated(list: readonly { scope: Scope }[], at: number): boolean {
  const { scope } = list[at]!;
  for (let i = 0; i < at; i++) if (list[i]!.scope === scope) return true;
  return false;
}

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
import { createQuotaClock } from './quota-clock.ts';
import type { RollingScope } from './rolling-scope.ts';
import { createRollingScopes, loadedScopesMax, ScopesFull } from './rolling-scopes.ts';

/** Running requests that hold units at one time: far more than a process can serve. */
export const holdsMax = 100_000;
/** What a call takes of a limit of calls that is asked after the model (a tier's rpm). */
const wholeCallMilli = 1_000;

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
  const open = new Map<string, OpenHold>();

  function allowedOf(allowed: number): number {
    const parts = share();
    return parts <= 1 ? allowed : Math.floor(allowed / parts);
  }

  function scopeOf(name: Scope): RollingScope {
    const scope = table.get(name);
    if (scope === undefined) throw new Error(`the scope ${name} is not loaded`);
    return scope;
  }

  /** Null when all let it pass; else the limit that frees last. A call takes `callMilli`, a unit limit `costMilli`. */
  function refusedBy(nowMs: number, limits: readonly Limit[], callMilli: number, costMilli: number): Full | null {
    let full: Full | null = null;
    let lastMs = 0;
    for (const limit of limits) {
      const scope = scopeOf(limit.scope);
      const used = scope.usedAt(nowMs, limit);
      const allowed = allowedOf(limit.allowed);
      const cost = limit.measure === 'units' ? costMilli : limit.measure === 'calls' ? callMilli : 0;
      // Amounts are whole: used < allowed is the same as used + 1 ≤ allowed.
      const excess = used + (limit.rule === 'exact' ? cost : 1) - allowed;
      if (excess <= 0) continue;
      const freeMs = scope.freeAtMs(nowMs, limit, excess);
      if (full !== null && (freeMs ?? Number.POSITIVE_INFINITY) <= lastMs) continue;
      lastMs = freeMs ?? Number.POSITIVE_INFINITY;
      const freeAtMs = freeMs === null ? null : clock.toWallMs(freeMs);
      full = { kind: 'full', limit: limit.id, scope: limit.scope, used, allowed, freeAtMs };
    }
    return full;
  }

  function statesOf(nowMs: number, limits: readonly Limit[]): readonly LimitState[] {
    if (limits.length === 0) return noStates;
    const states: LimitState[] = [];
    for (const limit of limits) {
      const state = scopeOf(limit.scope).stateAt(nowMs, limit);
      if (state.leavesAtMs !== null) state.leavesAtMs = clock.toWallMs(state.leavesAtMs);
      states.push(state);
    }
    return states;
  }

  /** Calls count once in a scope, however many limits look at it. */
  function countCalls(nowMs: number, limits: readonly Limit[], callMilli: number): void {
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i]!;
      if (limit.measure !== 'calls' || isRepeated(limits, i)) continue;
      const scope = scopeOf(limit.scope);
      scope.lastUsedMs = nowMs;
      scope.addCalls(nowMs, callMilli);
    }
  }

  function enterLoaded(entry: Entry): EntryAnswer {
    const nowMs = clock.nowMs();
    const full = refusedBy(nowMs, entry.limits, entry.callMilli, 0) ?? withoutPlace(entry.places);
    if (full !== null) return full;
    countCalls(nowMs, entry.limits, entry.callMilli);
    const taken: RollingScope[] = [];
    for (let i = 0; i < entry.places.length; i++) {
      if (isRepeated(entry.places, i)) continue;
      const scope = scopeOf(entry.places[i]!.scope);
      scope.lastUsedMs = nowMs;
      scope.running++;
      taken.push(scope);
    }
    return {
      kind: 'entered',
      states: statesOf(nowMs, entry.limits),
      leave() {
        for (const scope of taken) scope.running--;
        taken.length = 0;
      },
    };
  }

  function withoutPlace(places: Entry['places']): Full | null {
    for (const { id, scope, allowed } of places) {
      const used = scopeOf(scope).running;
      const share = allowedOf(allowed);
      if (used + 1 > share) return { kind: 'full', limit: id, scope, used, allowed: share, freeAtMs: null };
    }
    return null;
  }

  function holdLoaded(hold: Hold): Held | Full | Unavailable {
    const known = open.get(hold.requestId);
    if (known !== undefined) return known.held;
    if (open.size >= holdsMax) return tooMany;
    const nowMs = clock.nowMs();
    const full = refusedBy(nowMs, hold.limits, wholeCallMilli, hold.costMilli);
    if (full !== null) return full;
    countCalls(nowMs, hold.limits, wholeCallMilli);
    const scopes: RollingScope[] = [];
    for (const name of hold.scopes) {
      const scope = scopeOf(name);
      scope.lastUsedMs = nowMs;
      scope.holds++;
      scope.addUnits(nowMs, hold.costMilli);
      scopes.push(scope);
    }
    const held: Held = {
      kind: 'held',
      requestId: hold.requestId,
      account: hold.account,
      scopes: hold.scopes,
      costMilli: hold.costMilli,
      quotaMs: nowMs,
      states: statesOf(nowMs, hold.limits),
    };
    open.set(hold.requestId, { held, scopes });
    return held;
  }

  /** Answers at once where nothing must be loaded, or the books answer at once; else later. */
  function whenLoaded<A>(
    account: string,
    scopes: () => Scope[],
    answer: () => A,
  ): A | Unavailable | Promise<A | Unavailable> {
    let wait: Promise<void> | undefined;
    try {
      wait = table.load(account, scopes());
    } catch (error) {
      return unavailableFor(error);
    }
    if (wait === undefined) return answer();
    return wait.then(answer, unavailableFor);
  }

  /** Whether all of these are loaded. */
  function known(named: readonly { scope: Scope }[]): boolean {
    for (const { scope } of named) if (table.get(scope) === undefined) return false;
    return true;
  }

  function knownScopes(names: readonly Scope[]): boolean {
    for (const name of names) if (table.get(name) === undefined) return false;
    return true;
  }

  return {
    enter(entry) {
      if (known(entry.limits) && known(entry.places)) return enterLoaded(entry);
      const names = () => [...entry.limits, ...entry.places].map(({ scope }) => scope);
      return whenLoaded(entry.account, names, () => enterLoaded(entry));
    },
    hold(hold) {
      if (knownScopes(hold.scopes) && known(hold.limits)) return holdLoaded(hold);
      const names = () => [...hold.scopes, ...hold.limits.map(({ scope }) => scope)];
      return whenLoaded(hold.account, names, () => holdLoaded(hold));
    },
    settle({ requestId }, spent: Spent) {
      const hold = open.get(requestId);
      if (hold === undefined) return;
      open.delete(requestId);
      const nowMs = clock.nowMs();
      const { held, scopes } = hold;
      const backMilli = held.costMilli - spent.costMilli;
      for (const scope of scopes) {
        scope.holds--;
        scope.lastUsedMs = nowMs;
        if (backMilli > 0) scope.removeUnits(nowMs, held.quotaMs, backMilli);
        scope.addSpent(nowMs, spent.tokens, spent.usdNano);
      }
    },
    async read(account, limits) {
      const names = () => limits.map(({ scope }) => scope);
      const answer = await whenLoaded(account, names, () => statesOf(clock.nowMs(), limits));
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

/** Whether an earlier one of the list looks at the same scope. Lists are short. */
function isRepeated(list: readonly { scope: Scope }[], at: number): boolean {
  const { scope } = list[at]!;
  for (let i = 0; i < at; i++) if (list[i]!.scope === scope) return true;
  return false;
}

import type { Clock } from '../kernel/clock.ts';
import type { BucketRow, Measure, QuotaBooks, RecentCall, Scope } from './counters.ts';
import { RollingSum } from './rolling-sum.ts';
import { callMilliIn } from './scope.ts';
import { type SpanName, spans } from './window.ts';

/** What one scope has used, in every measure and span that a limit can ask for. Amounts as in counters.ts. */
export class RollingScope {
  readonly #calls = new RollingSum(spans.minute);
  readonly #unitsByMinute = new RollingSum(spans['5h']);
  readonly #unitsByHour = new RollingSum(spans.month, spans.week);
  readonly #tokensBySecond = new RollingSum(spans.minute);
  readonly #tokensByMinute = new RollingSum(spans['5h']);
  readonly #tokensByHour = new RollingSum(spans.month, spans.week);
  readonly #usdByMinute = new RollingSum(spans['5h']);
  readonly #usdByHour = new RollingSum(spans.month, spans.week);
  /** Requests that run now. */
  running = 0;
  /** Holds that are not settled: what they stand in must not be forgotten. */
  holds = 0;
  /** Quota time at which somebody last asked for it. */
  lastUsedMs = 0;

  addCalls(nowMs: number, callMilli: number): void {
    this.#calls.add(nowMs, callMilli);
  }

  addUnits(nowMs: number, costMilli: number): void {
    this.#unitsByMinute.add(nowMs, costMilli);
    this.#unitsByHour.add(nowMs, costMilli);
  }

  /** Takes units back from the buckets of that instant, while those live. */
  removeUnits(nowMs: number, countedMs: number, costMilli: number): void {
    this.#unitsByMinute.remove(nowMs, countedMs, costMilli);
    this.#unitsByHour.remove(nowMs, countedMs, costMilli);
  }

  addSpent(nowMs: number, tokens: number, usdNano: number): void {
    if (tokens > 0) {
      this.#tokensBySecond.add(nowMs, tokens);
      this.#tokensByMinute.add(nowMs, tokens);
      this.#tokensByHour.add(nowMs, tokens);
    }
    if (usdNano > 0) {
      this.#usdByMinute.add(nowMs, usdNano);
      this.#usdByHour.add(nowMs, usdNano);
    }
  }

  /** A settled bucket of the books, in ascending order. */
  seedBucket(nowMs: number, row: BucketRow): void {
    const { bucket } = row;
    if (row.grainMs === spans.month.bucketMs) {
      this.#unitsByHour.seed(nowMs, bucket, row.units);
      this.#tokensByHour.seed(nowMs, bucket, row.tokens);
      this.#usdByHour.seed(nowMs, bucket, row.usdNano);
    } else {
      this.#unitsByMinute.seed(nowMs, bucket, row.units);
      this.#tokensByMinute.seed(nowMs, bucket, row.tokens);
      this.#usdByMinute.seed(nowMs, bucket, row.usdNano);
      // The books do not know the second. The last it can have been lets nobody have more than the plan.
      const endMs = Math.min((bucket + 1) * row.grainMs - 1, nowMs);
      this.#tokensBySecond.seed(nowMs, Math.floor(endMs / spans.minute.bucketMs), row.tokens);
    }
  }

  /** A call of the last minute, in ascending order. */
  seedCalls(nowMs: number, atMs: number, callMilli: number): void {
    this.#calls.seed(nowMs, Math.floor(Math.min(atMs, nowMs) / spans.minute.bucketMs), callMilli);
  }

  /** Where a limit of this measure and span is counted. */
  sumOf(measure: Measure, span: SpanName): RollingSum {
    if (measure === 'units') {
      if (span === '5h') return this.#unitsByMinute;
      if (span !== 'minute') return this.#unitsByHour;
    } else if (measure === 'calls') {
      if (span === 'minute') return this.#calls;
    } else if (measure === 'tokens') {
      if (span === 'minute') return this.#tokensBySecond;
      return span === '5h' ? this.#tokensByMinute : this.#tokensByHour;
    } else if (span !== 'minute') return span === '5h' ? this.#usdByMinute : this.#usdByHour;
    throw new Error(`${measure} are not counted by ${span}`);
  }
}

/** Whose use is known at one time; an idle one is read again from the books when it comes back. */
export const loadedScopesMax = 50_000;
/**
 * A scope is kept so long after its last use. Closes reach the books up to 30 s late, and a call counts for 61 s: what
 * is read again after this is all of it.
 */
export const scopeKeptMs = 120_000;
/** How many are looked at to find room for one. */
const roomTries = 1_000;

/** Nobody could be found to make room for. */
export class ScopesFull extends Error {}

/** What the scopes in use have used: read from the books at the first request, then counted here. */
export interface RollingScopes {
  /** Undefined: not loaded. */
  get(scope: Scope): RollingScope | undefined;
  /**
   * Loads those of one account that are not there; undefined when that is done, else a promise of it. Throws or
   * rejects when the books cannot be read, and with ScopesFull.
   */
  load(account: string, scopes: readonly Scope[]): Promise<void> | undefined;
  size(): number;
  /** How many have been forgotten so far: whoever keeps what `get` gave looks whether it still counts. */
  forgotten(): number;
}

interface RollingScopesOptions {
  clock: QuotaClock;
  books: Pick<QuotaBooks, 'buckets' | 'recentCalls'>;
  /** Seeds are divided by this, rounded up (`on_state_loss: local`). */
  share: () => number;
  scopesMax: number;
}

export function createRollingScopes({ clock, books, share, scopesMax }: RollingScopesOptions): RollingScopes {
  /** Oldest first; one that was found in use while room was sought stands at the end again. */
  const loaded = new Map<Scope, RollingScope>();
  const loading = new Map<Scope, Promise<void>>();
  /** Limits of one request mostly look at one scope, one after the other. */
  let lastName: Scope = '';
  let last: RollingScope | undefined;
  let forgotten = 0;

  function get(name: Scope): RollingScope | undefined {
    if (name === lastName) return last;
    const scope = loaded.get(name);
    if (scope !== undefined) {
      lastName = name;
      last = scope;
    }
    return scope;
  }

  function makeRoom(nowMs: number): void {
    let tries = roomTries;
    lastName = '';
    last = undefined;
    for (const [name, scope] of loaded) {
      if (loaded.size < scopesMax) return;
      if (tries-- === 0) break;
      loaded.delete(name);
      const idle = scope.holds === 0 && scope.running === 0 && nowMs - scope.lastUsedMs >= scopeKeptMs;
      if (idle) forgotten++;
      else loaded.set(name, scope);
    }
    if (loaded.size >= scopesMax) throw new ScopesFull('every scope is in use');
  }

  function keep(scopes: readonly Scope[], rows: readonly BucketRow[], calls: readonly RecentCall[], account: string) {
    for (const row of rows) clock.startAt(row.bucket * row.grainMs);
    const nowMs = clock.nowMs();
    // Calls are dated by the wall.
    const aheadMs = nowMs - clock.toWallMs(nowMs);
    const parts = Math.max(1, share());
    const ofShare = (amount: number) => Math.ceil(amount / parts);
    const sortedRows = [...rows].sort((a, b) => a.bucket - b.bucket);
    const sortedCalls = [...calls].sort((a, b) => a.atMs - b.atMs);
    for (const name of scopes) {
      makeRoom(nowMs);
      const scope = new RollingScope();
      scope.lastUsedMs = nowMs;
      for (const row of sortedRows) {
        if (row.scope !== name) continue;
        const { units, tokens, usdNano } = row;
        scope.seedBucket(nowMs, {
          ...row,
          units: ofShare(units),
          tokens: ofShare(tokens),
          usdNano: ofShare(usdNano),
        });
      }
      for (const call of sortedCalls) {
        const milli = callMilliIn(name, account, call);
        if (milli > 0) scope.seedCalls(nowMs, call.atMs + aheadMs, ofShare(milli));
      }
      loaded.set(name, scope);
    }
  }

  function read(account: string, scopes: readonly Scope[]): Promise<void> | undefined {
    const { minute } = spans;
    const sinceMs = clock.toWallMs(clock.nowMs()) - minute.spanMs - minute.bucketMs;
    const rows = books.buckets(scopes);
    if (rows instanceof Promise) {
      // Within `then`, so that what is thrown here is no rejection that nobody waits for.
      const calls = Promise.resolve().then(() => books.recentCalls(account, sinceMs));
      return Promise.all([rows, calls]).then(([rowsRead, callsRead]) => keep(scopes, rowsRead, callsRead, account));
    }
    const calls = books.recentCalls(account, sinceMs);
    if (calls instanceof Promise) return calls.then((callsRead) => keep(scopes, rows, callsRead, account));
    keep(scopes, rows, calls, account);
    return undefined;
  }

  return {
    get,
    size: () => loaded.size,
    forgotten: () => forgotten,
    load(account, scopes) {
      const nowMs = clock.nowMs();
      const missing: Scope[] = [];
      const waits = new Set<Promise<void>>();
      for (const name of new Set(scopes)) {
        const scope = loaded.get(name);
        const wait = loading.get(name);
        // Kept while the others of this request are read.
        if (scope !== undefined) scope.lastUsedMs = nowMs;
        else if (wait !== undefined) waits.add(wait);
        else missing.push(name);
      }
      if (missing.length > 0) {
        const wait = read(account, missing);
        if (wait !== undefined) {
          const shared = wait.finally(() => {
            for (const name of missing) loading.delete(name);
          });
          for (const name of missing) loading.set(name, shared);
          waits.add(shared);
        }
      }
      return waits.size === 0 ? undefined : Promise.all(waits).then(() => undefined);
    },
  };
}

/**
 * The time that quota is counted by: whole ms since the epoch that never run back, over restarts too. A clock set back
 * gives no false 429, and one set forward frees no more than the step.
 */
interface QuotaClock {
  /**
   * Whichever is later: the last answer and the time that has really passed since, or the wall clock. So a wall clock
   * set back gives nobody a false 429, and one set forward frees no more than the step (faults.md F28).
   */
  nowMs(): number;
  /** What the wall will show at that instant, as far as the last `nowMs` knew: for what people read. */
  toWallMs(quotaMs: number): number;
  /** Never again before this: the newest bucket of an earlier run, whose wall clock may have been ahead of ours. */
  startAt(lastMs: number): void;
}

export function createQuotaClock(clock: Clock): QuotaClock {
  let monotonicMs = clock.monotonicMs();
  /** Not rounded: rounding each delta would lose the fractions of a million requests. */
  let quotaMs = clock.wallMs();
  /** By how much the wall is behind. */
  let aheadMs = 0;

  function nowMs(): number {
    const monotonicNowMs = clock.monotonicMs();
    const wallMs = clock.wallMs();
    quotaMs = Math.max(quotaMs + Math.max(0, monotonicNowMs - monotonicMs), wallMs);
    monotonicMs = monotonicNowMs;
    const now = Math.floor(quotaMs);
    aheadMs = now - wallMs;
    return now;
  }

  return {
    nowMs,
    toWallMs: (atMs) => atMs - aheadMs,
    startAt(lastMs) {
      if (lastMs > nowMs()) {
        aheadMs += lastMs - Math.floor(quotaMs);
        quotaMs = lastMs;
      }
    },
  };
}

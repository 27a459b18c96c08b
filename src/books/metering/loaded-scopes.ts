import { accountOfScope, callMilliIn, isPartScope } from './counter-scope.ts';
import type { BucketRow, QuotaBooks, RecentCall, Scope } from './counters.ts';
import { type QuotaClock, RollingScope } from './rolling-sum.ts';
import { spans } from './window.ts';

/** Number of scopes whose usage is in memory. An idle one is read from the ledger again when it comes back. */
export const loadedScopesMax = 50_000;
/**
 * A scope is kept this long after its last use. Closes reach the ledger up to 30 s late, and a call counts for 61 s: a
 * later read from the ledger is complete.
 */
export const scopeRetentionMs = 120_000;
/**
 * Maximum number of end users, tags and models of one account, which its callers name: they leave room for other
 * scopes. An idle one makes room for the next.
 */
export const partScopesMax = 5_000;
/** Maximum number of scopes that are checked to find room for one. */
const roomTries = 1_000;

/** No scope could make room. */
export class ScopesFull extends Error {}

interface LoadedScopesOptions {
  clock: QuotaClock;
  books: Pick<QuotaBooks, 'buckets' | 'recentCalls'>;
  /** Seeds are divided by this, rounded up (`on_state_loss: local`). */
  share: () => number;
  scopesMax: number;
}

/** Use of the active scopes: read from the ledger at the first request, then counted here. */
export class LoadedScopes {
  /** Number of forgotten scopes. Who keeps the result of `get` checks by it whether that is still valid. */
  forgotten = 0;
  readonly #options: LoadedScopesOptions;
  /** Oldest first. A scope that was found in use during a search for room moves to the end again. */
  readonly #loaded = new Map<Scope, RollingScope>();
  readonly #loading = new Map<Scope, Promise<void>>();
  /** Scopes of end users, tags and models by account, oldest first. */
  readonly #parts = new Map<string, Set<Scope>>();

  constructor(options: LoadedScopesOptions) {
    this.#options = options;
  }

  get clock(): QuotaClock {
    return this.#options.clock;
  }

  /** Undefined: not loaded. */
  get(name: Scope): RollingScope | undefined {
    return this.#loaded.get(name);
  }

  size(): number {
    return this.#loaded.size;
  }

  /**
   * Loads those of one account that are not there; undefined when that is done, else a promise of it. Throws or
   * rejects when the books cannot be read, and with ScopesFull.
   */
  load(account: string, scopes: readonly Scope[]): Promise<void> | undefined {
    const nowMs = this.#options.clock.nowMs();
    const missing: Scope[] = [];
    const waits = new Set<Promise<void>>();
    for (const name of new Set(scopes)) {
      const scope = this.#loaded.get(name);
      const wait = this.#loading.get(name);
      // Kept while the others of this request are read.
      if (scope !== undefined) scope.lastUsedMs = nowMs;
      else if (wait !== undefined) waits.add(wait);
      else missing.push(name);
    }
    if (missing.length > 0) {
      const wait = this.#read(account, missing);
      if (wait !== undefined) {
        const shared = wait.finally(() => {
          for (const name of missing) this.#loading.delete(name);
        });
        for (const name of missing) this.#loading.set(name, shared);
        waits.add(shared);
      }
    }
    return waits.size === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  #read(account: string, scopes: readonly Scope[]): Promise<void> | undefined {
    const { clock, books } = this.#options;
    const { minute } = spans;
    const sinceMs = clock.toWallMs(clock.nowMs()) - minute.spanMs - minute.bucketMs;
    const rows = books.buckets(scopes);
    if (rows instanceof Promise) {
      // Within `then`, so that an error here is not a rejection that nobody handles.
      const calls = Promise.resolve().then(() => books.recentCalls(account, sinceMs));
      return Promise.all([rows, calls]).then(([rowsRead, callsRead]) =>
        this.#keep(scopes, rowsRead, callsRead, account),
      );
    }
    const calls = books.recentCalls(account, sinceMs);
    if (calls instanceof Promise) return calls.then((callsRead) => this.#keep(scopes, rows, callsRead, account));
    this.#keep(scopes, rows, calls, account);
    return undefined;
  }

  #keep(scopes: readonly Scope[], rows: readonly BucketRow[], calls: readonly RecentCall[], account: string): void {
    const { clock, share } = this.#options;
    for (const row of rows) clock.startAt(row.bucket * row.grainMs);
    const nowMs = clock.nowMs();
    // Calls are dated by the wall.
    const aheadMs = nowMs - clock.toWallMs(nowMs);
    const parts = Math.max(1, share());
    const ofShare = (amount: number) => Math.ceil(amount / parts);
    const sortedRows = [...rows].sort((a, b) => a.bucket - b.bucket);
    const sortedCalls = [...calls].sort((a, b) => a.atMs - b.atMs);
    for (const name of scopes) {
      this.#makeRoom(nowMs);
      if (isPartScope(name)) this.#addPart(account, name, nowMs);
      const scope = new RollingScope();
      scope.lastUsedMs = nowMs;
      for (const row of sortedRows) {
        if (row.scope !== name) continue;
        const { units, tokens, usdNano } = row;
        scope.seedBucket(nowMs, { ...row, units: ofShare(units), tokens: ofShare(tokens), usdNano: ofShare(usdNano) });
      }
      for (const call of sortedCalls) {
        const milli = callMilliIn(name, account, call);
        if (milli > 0) scope.seedCalls(nowMs, call.atMs + aheadMs, ofShare(milli));
      }
      this.#loaded.set(name, scope);
    }
  }

  #makeRoom(nowMs: number): void {
    const { scopesMax } = this.#options;
    const loaded = this.#loaded;
    let tries = roomTries;
    for (const [name, scope] of loaded) {
      if (loaded.size < scopesMax) return;
      if (tries-- === 0) break;
      if (isIdle(scope, nowMs)) this.#forget(name);
      else {
        loaded.delete(name);
        loaded.set(name, scope);
      }
    }
    if (loaded.size >= scopesMax) throw new ScopesFull('every scope is in use');
  }

  #addPart(account: string, name: Scope, nowMs: number): void {
    let parts = this.#parts.get(account);
    if (parts === undefined) {
      parts = new Set();
      this.#parts.set(account, parts);
    }
    if (parts.size >= partScopesMax) {
      for (const one of [...parts].slice(0, roomTries)) {
        const scope = this.#loaded.get(one);
        if (scope === undefined || isIdle(scope, nowMs)) this.#forget(one);
        else {
          parts.delete(one);
          parts.add(one);
        }
      }
      if (parts.size >= partScopesMax) throw new ScopesFull('every scope of this account is in use');
    }
    parts.add(name);
  }

  #forget(name: Scope): void {
    this.#loaded.delete(name);
    this.forgotten++;
    if (!isPartScope(name)) return;
    const account = accountOfScope(name);
    const parts = this.#parts.get(account);
    parts?.delete(name);
    if (parts?.size === 0) this.#parts.delete(account);
  }
}

function isIdle({ holds, running, lastUsedMs }: RollingScope, nowMs: number): boolean {
  return holds === 0 && running === 0 && nowMs - lastUsedMs >= scopeRetentionMs;
}

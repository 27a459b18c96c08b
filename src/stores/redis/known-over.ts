import type { Full, Limit, Scope } from '../../books/metering/counters.ts';

/**
 * Limits that Redis has refused a request for, until the instant at which it would pass: until then Redis need not be
 * asked. Of calls, tokens and USD nothing is ever given back. Units may come back when a request ends, wherever it runs:
 * they are asked for again soon, and relied on for longer only where Redis does not answer (`stale`).
 */
export type KnownOver = ReturnType<typeof createKnownOver>;

interface Known {
  over: Full;
  /** All that the refused request had to pass. */
  limits: readonly Limit[];
  needs: number;
  /** By `nowMs`. */
  untilMs: number;
  freshUntilMs: number;
}

/** Scopes remembered; at the bound all are forgotten, and learnt again. */
const scopesMax = 10_000;

/** Another replica's request that ends may free units: they are refused here for so long at most. */
const unitsFreshMs = 250;

/** `nowMs` only ever goes on, at the server's pace. */
export function createKnownOver(nowMs: () => number) {
  const known = new Map<Scope, Map<string, Known>>();

  function refusalOf(limit: Limit, limits: readonly Limit[], needs: number, how: 'fresh' | 'stale'): Full | null {
    const ofScope = known.get(limit.scope);
    const found = ofScope?.get(limit.id);
    if (ofScope === undefined || found === undefined) return null;
    const atMs = nowMs();
    if (atMs >= found.untilMs) {
      ofScope.delete(limit.id);
      if (ofScope.size === 0) known.delete(limit.scope);
      return null;
    }
    // One that needs more would pass later: Redis tells when.
    if (how === 'fresh' && (atMs >= found.freshUntilMs || needs > found.needs)) return null;
    // A plan that allows more may let it pass, and so may a smaller request.
    return needs >= found.needs && areSame(limits, found.limits) ? found.over : null;
  }

  return {
    /**
     * `redisNowMs` is the server's time of the refusal: its clock and ours may differ. `answeredInMs`: how long ago it
     * was asked at most, so that nobody is refused for longer than Redis would.
     */
    learn(
      over: Full,
      limit: Limit,
      limits: readonly Limit[],
      needs: number,
      { redisNowMs, answeredInMs }: { redisNowMs: number; answeredInMs: number },
    ): void {
      if (over.freeAtMs === null) return;
      const atMs = nowMs();
      // The server's clock had gone on by up to a ms since `redisNowMs`.
      const untilMs = atMs - answeredInMs + over.freeAtMs - redisNowMs - 1;
      const freshUntilMs = limit.measure === 'units' ? Math.min(untilMs, atMs + unitsFreshMs) : untilMs;
      if (known.size >= scopesMax && !known.has(limit.scope)) known.clear();
      const ofScope = known.get(limit.scope) ?? new Map<string, Known>();
      known.set(limit.scope, ofScope.set(limit.id, { over, limits, needs, untilMs, freshUntilMs }));
    },
    /**
     * The refusal of a request that needs this much of each of these limits; null: none is known. For other limits
     * another one might free later, and Redis is asked which.
     */
    find(limits: readonly Limit[], needs: (limit: Limit) => number, how: 'fresh' | 'stale'): Full | null {
      if (known.size === 0) return null;
      for (const limit of limits) {
        const over = refusalOf(limit, limits, needs(limit), how);
        if (over !== null) return over;
      }
      return null;
    },
    /** Units were given back to these scopes here. */
    freed(scopes: readonly Scope[]): void {
      if (known.size === 0) return;
      for (const scope of scopes) known.delete(scope);
    },
    forget: (): void => known.clear(),
  };
}

function areSame(some: readonly Limit[], others: readonly Limit[]): boolean {
  return (
    some.length === others.length &&
    others.every(({ id, scope, allowed }, i) => {
      const one = some[i];
      return id === one?.id && scope === one.scope && allowed === one.allowed;
    })
  );
}

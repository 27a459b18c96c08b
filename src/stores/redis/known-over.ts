import type { Full, Limit } from '../../books/metering/counters.ts';

/**
 * Limits that Redis has refused a request for, until the instant at which it would pass: until then Redis need not be
 * asked. `certain` are those of which nothing is ever given back (calls, tokens, USD). Units may come back when a
 * request ends, so what is known of them is used only when Redis does not answer.
 */
export interface KnownOver {
  /** `redisNowMs` is the server's time of the refusal: its clock and ours may differ. */
  learn(over: Full, limit: Limit, limits: readonly Limit[], needs: number, redisNowMs: number): void;
  /**
   * The refusal of a request that needs this much of each of these limits; null: none is known. For other limits
   * another one might free later, and Redis is asked which.
   */
  find(limits: readonly Limit[], needs: (limit: Limit) => number, how: 'certain' | 'any'): Full | null;
  forget(): void;
}

interface Known {
  over: Full;
  /** All that the refused request had to pass. */
  limits: readonly Limit[];
  needs: number;
  /** By `nowMs`. */
  untilMs: number;
}

/** Limits remembered; at the bound all are forgotten, and learnt again. */
const knownMax = 10_000;

/** `nowMs` only ever goes on, at the server's pace. */
export function createKnownOver(nowMs: () => number): KnownOver {
  const known = new Map<string, Known>();

  function refusalOf(limit: Limit, limits: readonly Limit[], needs: number, atMs: number): Full | null {
    const name = nameOf(limit);
    const found = known.get(name);
    if (found === undefined) return null;
    if (atMs >= found.untilMs) {
      known.delete(name);
      return null;
    }
    // A plan that allows more may let it pass, and so may a smaller request.
    return needs >= found.needs && areSame(limits, found.limits) ? found.over : null;
  }

  return {
    learn(over, limit, limits, needs, redisNowMs) {
      if (over.freeAtMs === null) return;
      if (known.size >= knownMax) known.clear();
      known.set(nameOf(limit), { over, limits, needs, untilMs: nowMs() + over.freeAtMs - redisNowMs });
    },
    find(limits, needs, how) {
      if (known.size === 0) return null;
      const atMs = nowMs();
      for (const limit of limits) {
        if (how === 'certain' && limit.measure === 'units') continue;
        const over = refusalOf(limit, limits, needs(limit), atMs);
        if (over !== null) return over;
      }
      return null;
    },
    forget: () => known.clear(),
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

function nameOf({ scope, id }: Limit): string {
  return `${scope} ${id}`;
}

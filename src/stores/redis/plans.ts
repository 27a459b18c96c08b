import type { Entry, Hold, Limit, Scope } from '../../books/metering/counters.ts';
import { openKey, placesKey, scopeKey } from './keys.ts';
import { allowedOnWire, placeOf, spanOnWire } from './limits-on-wire.ts';
import type { OperationPlan } from './operation-turns.ts';

/** A plan, and the scopes among its keys, from the second on. */
export interface ScopedPlan extends OperationPlan {
  scopes: readonly Scope[];
}

/** Milli-calls of a hold in a tier's calls a minute. */
export const tierCallMilli = 1_000;

/**
 * Plans of operations. Requests of one tenant come with the same lists of limits and scopes, so each is made once: a
 * call then holds it once, too.
 */
export type Plans = ReturnType<typeof createPlans>;

/** `nowMs`: the wall clock, by which periods of the calendar begin. */
export function createPlans(nowMs: () => number) {
  const enters = new WeakMap<object, { account: string; places: Entry['places']; plan: ScopedPlan }>();
  const holds = new WeakMap<object, { account: string; scopes: readonly Scope[]; plan: ScopedPlan; untilMs: number }>();
  const settles = new WeakMap<object, { account: string; plan: OperationPlan }>();
  const sets = new WeakMap<object, { account: string; plan: OperationPlan }>();
  return {
    enter(entry: Entry): ScopedPlan {
      const { account, limits, places } = entry;
      const known = enters.get(limits);
      if (known?.account === account && known.places === places) return known.plan;
      const plan = enterPlan(entry);
      enters.set(limits, { account, places, plan });
      return plan;
    },
    hold(hold: Hold): ScopedPlan {
      const { account, limits, scopes } = hold;
      const known = holds.get(limits);
      const isSame = known?.account === account && known.scopes === scopes;
      if (isSame && (known.untilMs === endless || nowMs() < known.untilMs)) return known.plan;
      const atMs = nowMs();
      const plan = holdPlan(hold, atMs);
      const untilMs = Math.min(endless, ...limits.flatMap(({ period }) => period?.endMs(atMs) ?? []));
      holds.set(limits, { account, scopes, plan, untilMs });
      return plan;
    },
    settle(account: string, scopes: readonly Scope[]): OperationPlan {
      const known = settles.get(scopes);
      if (known?.account === account) return known.plan;
      const plan = { keys: [openKey(account), ...scopes.map((scope) => scopeKey(account, scope))], args: scopes };
      settles.set(scopes, { account, plan });
      return plan;
    },
    places(account: string, places: Entry['places']): OperationPlan {
      const known = sets.get(places);
      if (known?.account === account) return known.plan;
      const plan = { keys: places.map(({ scope }) => placesKey(account, scope)), args: [] };
      sets.set(places, { account, plan });
      return plan;
    },
  };
}

function enterPlan({ account, limits, places }: Entry): ScopedPlan {
  const scopes: Scope[] = [];
  const limitArgs = limits.flatMap((limit) => {
    spanOnWire(limit, 0);
    return [placeOf(limit.scope, scopes), allowedOnWire(limit.allowed)];
  });
  return {
    scopes,
    keys: [
      openKey(account),
      ...scopes.map((scope) => scopeKey(account, scope)),
      ...places.map(({ scope }) => placesKey(account, scope)),
    ],
    args: [
      String(scopes.length),
      String(limits.length),
      ...limitArgs,
      ...places.map(({ allowed }) => allowedOnWire(allowed)),
    ],
  };
}

const endless = Number.POSITIVE_INFINITY;

function holdPlan(hold: Hold, nowMs: number): ScopedPlan {
  const { account, limits } = hold;
  const scopes = [...hold.scopes];
  const limitArgs = limits.flatMap((limit) => [
    placeOf(limit.scope, scopes),
    ...spanOnWire(limit, nowMs),
    allowedOnWire(limit.allowed),
    limit.rule,
  ]);
  return {
    scopes,
    keys: [openKey(account), ...scopes.map((scope) => scopeKey(account, scope))],
    args: [
      String(hold.scopes.length),
      hold.scopes.join('\n'),
      String(scopes.length),
      String(tierCallMilli),
      ...limitArgs,
    ],
  };
}

/** How full limits are; asked for too seldom to be kept. */
export function readPlan(account: string, limits: readonly Limit[], nowMs: number): ScopedPlan {
  const scopes: Scope[] = [];
  const args = limits.flatMap((limit) => [placeOf(limit.scope, scopes), ...spanOnWire(limit, nowMs)]);
  return { scopes, keys: [openKey(account), ...scopes.map((scope) => scopeKey(account, scope))], args };
}

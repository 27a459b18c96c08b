import type { Principal } from '../auth/principal.ts';
import type { Limit, Measure, Scope } from './counters.ts';
import type { KeyLimits, Plan } from './plan.ts';
import type { LimitSet } from './plan-book.ts';
import { accountScope, freeScope, keyScope, scopesOf } from './scope.ts';
import { type SpanName, type WindowName, windowNames } from './window.ts';

/** Every limit that a request of this caller on a model of this tier must pass: its plan's, then its key's own. */
export function limitSetOf(plan: Plan, own: KeyLimits | null, principal: Principal, tier: string | null): LimitSet {
  const { account, tenant } = principal;
  const scope = (ofTier: string | null): Scope =>
    plan.scope === 'key' ? keyScope(tenant, ofTier) : accountScope(account, ofTier);
  const tierLimits = tier === null ? undefined : plan.tiers.get(tier);
  const calls: Limit[] = callLimits('minute', plan.rpm, scope(null));
  const places = placeLimits(plan.concurrency, scope(null));
  const windows: Limit[] = [];
  if (tierLimits !== undefined) {
    windows.push(...callLimits(`tier:${tier}:rpm`, tierLimits.rpm, scope(tier)));
    windows.push(...windowLimits(`tier:${tier}:`, 'units', tierLimits.units, scope(tier)));
  }
  windows.push(...afterwards(plan, scope(null)));
  if (own !== null) {
    const ofKey = keyScope(tenant, null);
    calls.push(...callLimits('minute', own.rpm, ofKey));
    places.push(...placeLimits(own.concurrency, ofKey));
    windows.push(...afterwards(own, ofKey));
  }
  const tightestCalls = tightest(calls);
  return {
    calls: tightestCalls,
    freeCalls: tightestCalls.map((each) => ({ ...each, id: 'free', scope: freeScope(each.scope) })),
    places: tightest(places),
    windows: tightest(windows),
    scopes: scopesOf({ account, tenant, tier }),
  };
}

/** Units, tokens and USD of a plan or key, in the order in which a 429 prefers them. */
function afterwards(limits: KeyLimits, scope: Scope): Limit[] {
  return [
    ...windowLimits('', 'units', limits.units, scope),
    ...(limits.tpm === null ? [] : [limit('tokens:minute', 'tokens', 'minute', limits.tpm, scope)]),
    ...windowLimits('tokens:', 'tokens', limits.tokens, scope),
    ...windowLimits('budget:', 'usd', limits.usdNano, scope),
  ];
}

function callLimits(id: string, rpm: number | null, scope: Scope): Limit[] {
  return rpm === null ? [] : [limit(id, 'calls', 'minute', rpm * 1_000, scope)];
}

function placeLimits(allowed: number | null, scope: Scope): { id: string; scope: Scope; allowed: number }[] {
  return allowed === null ? [] : [{ id: 'concurrency', scope, allowed }];
}

function windowLimits(
  prefix: string,
  measure: Measure,
  amounts: Readonly<Record<WindowName, number | null>>,
  scope: Scope,
): Limit[] {
  return windowNames.flatMap((window) => {
    const allowed = amounts[window];
    return allowed === null ? [] : [limit(`${prefix}${window}`, measure, window, allowed, scope)];
  });
}

/** Tokens and USD are known afterwards only; requests and units are exact. */
export function limit(id: string, measure: Measure, span: SpanName, allowed: number, scope: Scope): Limit {
  const rule = measure === 'tokens' || measure === 'usd' ? 'post-paid' : 'exact';
  return { id, scope, measure, span, allowed, rule };
}

/** A plan that counts by key and a key's own limits meet in one scope: the lower of two that count the same stays. */
function tightest<T extends { id: string; scope: Scope; allowed: number }>(limits: readonly T[]): T[] {
  const kept: T[] = [];
  for (const each of limits) {
    const same = kept.findIndex(({ id, scope }) => id === each.id && scope === each.scope);
    if (same === -1) kept.push(each);
    else if (each.allowed < kept[same]!.allowed) kept[same] = each;
  }
  return kept;
}

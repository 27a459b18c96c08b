import type { BucketRow, RecentCall, Scope } from './counters.ts';

/** The counters that a request moves, and their record. */
export interface Counted {
  account: string;
  tenant: string;
  tier: string | null;
  /** Scopes besides those of its account and key, in lines; absent or null: none. */
  furtherScopes?: string | null;
}

export function accountScope(account: string, tier: string | null): Scope {
  return tier === null ? `a:${account}` : `a:${account}#${tier}`;
}

export function keyScope(tenant: string, tier: string | null): Scope {
  return tier === null ? `k:${tenant}` : `k:${tenant}#${tier}`;
}

/** Scope of one end user, tag or model of an account, by the digest of its name. */
export function partScope(account: string, kind: string, digest: string): Scope {
  return `b:${account}/${kind}/${digest}`;
}

/** Scope of a key of a run. */
export function runScope(account: string, id: string): Scope {
  return `r:${account}/${id}`;
}

/** Scope of what the credit of an account has paid, which counts for ever. */
export function creditScope(account: string): Scope {
  return `c:${account}`;
}

function isCreditScope(scope: Scope): boolean {
  return scope.startsWith('c:');
}

/** Grain of the one bucket that never ends. */
export const everGrainMs = 0;

/** True for a scope that callers name or make, as many as they like. */
export function isPartScope(scope: Scope): boolean {
  return scope.startsWith('b:') || scope.startsWith('r:');
}

/** Account that a scope belongs to: no account's id holds `#` or `/`. */
export function accountOfScope(scope: Scope): string {
  return scope.slice(2).split(/[#/]/, 1)[0]!;
}

/** Scope of free calls: apart from all others, which they must not hold up. No tier has a `/` in its name. */
export function freeScope(whole: Scope): Scope {
  return `${whole}#/free`;
}

/** Every scope a request counts in: its account and its key, each whole and by tier, and those of budgets within them. */
export function scopesOf({ account, tenant, tier, furtherScopes }: Counted): readonly Scope[] {
  const whole = [`a:${account}`, `k:${tenant}`];
  const ofTier = tier === null ? whole : [...whole, accountScope(account, tier), keyScope(tenant, tier)];
  return furtherScopes == null ? ofTier : [...ofTier, ...furtherScopes.split('\n')];
}

/** Milli-calls that a request takes of limits on calls: a vector call is 0.05 of one, and so is one that is free. */
export const milliPerCall = { one: 1_000, vector: 50, free: 50, message: 1_000 } as const;

/**
 * Milli-calls that a call of the past took of a scope: of its tier a whole one, whatever it was (that of its model), of
 * account and key what its endpoint weighs; 0 where it does not count.
 */
export function callMilliIn(scope: Scope, account: string, { tenant, tier, endpoint }: RecentCall): number {
  const at = scopesOf({ account, tenant, tier }).indexOf(scope);
  if (at === -1) return 0;
  return at < wholeScopes && endpoint === 'vectors' ? milliPerCall.vector : milliPerCall.one;
}

/** The first of `scopesOf` are those without a tier. */
const wholeScopes = 2;

const bucketGrainsMs: readonly number[] = [60_000, 3_600_000];

const nanoPerUsd = 1e9;

export function nanoUsd(usd: number | null): number {
  return usd === null ? 0 : Math.round(usd * nanoPerUsd);
}

/**
 * Amounts that a settled request adds to the quota buckets, for the ledger to write with its event. Units go into the
 * bucket in which they were held, tokens and USD into that of the settlement, which is when they are known.
 */
export function bucketsOf(
  event: Counted & {
    quotaMs: number;
    settledMs: number;
    costMilli: number;
    inputTokens: number;
    outputTokens: number;
    costUsd: number | null;
  },
): BucketRow[] {
  const tokens = event.inputTokens + event.outputTokens;
  const usdNano = nanoUsd(event.costUsd);
  const rows: BucketRow[] = [];
  for (const scope of scopesOf(event)) {
    // Most have none.
    if (event.furtherScopes != null && isCreditScope(scope)) {
      if (usdNano !== 0) rows.push({ scope, grainMs: everGrainMs, bucket: 0, units: 0, tokens: 0, usdNano });
      continue;
    }
    for (const grainMs of bucketGrainsMs) {
      const bucket = Math.floor(event.quotaMs / grainMs);
      const settledIn = Math.floor(event.settledMs / grainMs);
      const late = settledIn !== bucket && (tokens !== 0 || usdNano !== 0);
      // Below 0 where something is given back.
      if (event.costMilli !== 0 || (!late && (tokens !== 0 || usdNano !== 0)))
        rows.push({
          scope,
          grainMs,
          bucket,
          units: event.costMilli,
          tokens: late ? 0 : tokens,
          usdNano: late ? 0 : usdNano,
        });
      if (late) rows.push({ scope, grainMs, bucket: settledIn, units: 0, tokens, usdNano });
    }
  }
  return rows;
}

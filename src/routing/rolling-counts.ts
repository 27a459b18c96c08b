import { putNewest } from '../kernel/put-newest.ts';

/**
 * How often something happened in the last `buckets × bucketMs` ms, the running bucket included. Fixed memory: what
 * leaves the window is forgotten a bucket at a time. Time that runs backwards counts as the newest time seen.
 */
export class RollingCount {
  readonly #bucketMs: number;
  readonly #slots: Int32Array;
  /** Number of the newest bucket since the clock's zero. */
  #head = -1;
  #total = 0;

  constructor(bucketMs: number, buckets: number) {
    this.#bucketMs = bucketMs;
    this.#slots = new Int32Array(buckets);
  }

  add(nowMs: number): void {
    if (nowMs >= (this.#head + 1) * this.#bucketMs) this.#roll(nowMs);
    const slot = this.#head % this.#slots.length;
    this.#slots[slot] = this.#slots[slot]! + 1;
    this.#total++;
  }

  total(nowMs: number): number {
    if (nowMs >= (this.#head + 1) * this.#bucketMs) this.#roll(nowMs);
    return this.#total;
  }

  clear(): void {
    this.#slots.fill(0);
    this.#total = 0;
  }

  /** The first instant at which no more than `allowed` are left, if none is added; `nowMs` if that is already so. */
  atMostMs(allowed: number, nowMs: number): number {
    this.#roll(nowMs);
    const length = this.#slots.length;
    let left = this.#total;
    if (left <= allowed) return nowMs;
    for (let age = length - 1; age >= 0; age--) {
      const bucket = this.#head - age;
      if (bucket < 0) continue;
      left -= this.#slots[bucket % length]!;
      if (left <= allowed) return (bucket + length) * this.#bucketMs;
    }
    return (this.#head + length) * this.#bucketMs;
  }

  #roll(nowMs: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    if (bucket <= this.#head) return;
    const length = this.#slots.length;
    const steps = Math.min(bucket - this.#head, length);
    for (let step = 0; step < steps; step++) {
      const slot = (bucket - step) % length;
      this.#total -= this.#slots[slot]!;
      this.#slots[slot] = 0;
    }
    this.#head = bucket;
  }
}

/** The window of a target's health: 60 s in ten buckets. */
const windowBuckets = 10;
const windowBucketMs = 6_000;
/** Weight of one more outcome in the recent share: nine failures in a row leave 13 %. */
const recentWeight = 0.2;
/** How fast the recent share drifts back to 1 without news: bad targets are tried again by and by. */
const recentFadesMs = 30_000;
/** Until then it stays: in an outage, a second without requests makes no target better. */
const recentStandsMs = 5_000;
/** Failures in a row within this time say something of the very next attempt. */
const rowFreshMs = 500;
/** How likely a target goes down between two attempts, before anything is known of it. */
const downPrior = 0.02;
/** Requests that the rate of failures is smoothed by, one of them failed. */
const smoothedBy = 20;
/** Tenants remembered of those whose requests failed; at the bound a further one counts for the target alone. */
const tenantsMax = 8;
/** This many requests of other tenants can tell whether failures follow one tenant. */
const othersMin = 5;
/** The most that others may fail for a tenant's failures to be its own. */
const othersFailedMax = 0.2;
/** A smaller share of successes is as good as dead. */
const deadShare = 0.2;

interface Counts {
  succeeded: RollingCount;
  failed: RollingCount;
}

/** Since its first failure: what became of a tenant's requests, and of everybody else's. */
interface TenantCounts {
  tenant: Counts;
  others: Counts;
}

interface Totals {
  succeeded: number;
  failed: number;
}

/**
 * How many of a target's requests succeed: over the last minute, and over the last few where that is worse, since an
 * outage must show within a second. Failures that follow one tenant while others are served are that tenant's own (its
 * prompt, not the target's health) and do not count. All times are monotonic ms.
 */
export class SuccessShare {
  readonly #all = newCounts();
  #recent = 1;
  #recentAtMs = 0;
  /** Failures since the last success, with a request's repeated ones. */
  #inRow = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  /** Only tenants with a failure in the window; null while there is none. */
  #tenants: Map<string, TenantCounts> | null = null;

  succeeded(tenant: string, nowMs: number): void {
    this.#inRow = 0;
    this.#all.succeeded.add(nowMs);
    if (this.#recent < 1) this.#moveRecent(1, nowMs);
    if (this.#tenants !== null) this.#countForTenant(tenant, 'succeeded', nowMs);
  }

  /** Every failure; what else it says, `failed` tells, once for a request. */
  missed(nowMs: number): void {
    this.#inRow++;
    this.#failedAtMs = nowMs;
  }

  failed(tenant: string, nowMs: number): void {
    this.#all.failed.add(nowMs);
    this.#remember(tenant);
    this.#countForTenant(tenant, 'failed', nowMs);
    if (!this.followsTenant(tenant, nowMs)) this.#moveRecent(0, nowMs);
  }

  /** 0 to 1; 1 while nothing is known. */
  at(nowMs: number): number {
    if (this.#recent === 1) return 1;
    const recent = this.#recentAt(nowMs);
    const { succeeded, failed } = this.#withoutWorst(nowMs);
    return Math.min(recent, (succeeded + 2) / (succeeded + failed + 2));
  }

  /**
   * 0 to 1: the same for an attempt right now. Where the last ones failed in a row it is weighed whether the target has
   * just gone down, or fails so often anyhow (Bayes, with `downPrior`).
   */
  rightNow(nowMs: number): number {
    const share = this.at(nowMs);
    if (this.#inRow === 0 || nowMs - this.#failedAtMs >= rowFreshMs) return share;
    const { succeeded, failed } = this.counts(nowMs);
    const byChance = ((failed + 1) / (succeeded + failed + smoothedBy)) ** this.#inRow;
    return (share * byChance) / (byChance + downPrior);
  }

  /** Fewer than a fifth of at least this many requests succeed, of two tenants or more, or of the only one. */
  isDead(requestsMin: number, nowMs: number): boolean {
    const { succeeded, failed } = this.counts(nowMs);
    const total = failed + succeeded;
    if (total < requestsMin || failed <= total * (1 - deadShare)) return false;
    const tenants = this.#tenantsAt(nowMs);
    if (tenants === null || tenants.size !== 1) return true;
    const [only] = tenants.values();
    const others = totalsOf(only!.others, nowMs);
    return others.succeeded + others.failed === 0;
  }

  /** Whether this tenant's requests fail while those of others are served. */
  followsTenant(tenant: string, nowMs: number): boolean {
    const counts = this.#tenants?.get(tenant);
    if (counts === undefined) return false;
    const ofTenant = totalsOf(counts.tenant, nowMs);
    const others = totalsOf(counts.others, nowMs);
    const ended = others.succeeded + others.failed;
    return (
      ofTenant.failed >= 2 &&
      ofTenant.failed > ofTenant.succeeded &&
      ended >= othersMin &&
      others.failed <= ended * othersFailedMax
    );
  }

  counts(nowMs: number): Totals {
    return totalsOf(this.#all, nowMs);
  }

  /** A fresh start: what made it bad is over. */
  clear(): void {
    this.#all.succeeded.clear();
    this.#all.failed.clear();
    this.#recent = 1;
    this.#inRow = 0;
    this.#tenants = null;
  }

  #moveRecent(outcome: 0 | 1, nowMs: number): void {
    const recent = this.#recentAt(nowMs);
    this.#recent = recent + (outcome - recent) * recentWeight;
    // Close enough to spare every later request the arithmetic.
    if (this.#recent > 0.999) this.#recent = 1;
    this.#recentAtMs = nowMs;
  }

  #recentAt(nowMs: number): number {
    return 1 - (1 - this.#recent) * Math.exp(-Math.max(0, nowMs - this.#recentAtMs - recentStandsMs) / recentFadesMs);
  }

  /** The window's counts, without the tenant that fails most if the others are enough to judge by. */
  #withoutWorst(nowMs: number): Totals {
    let worst: TenantCounts | null = null;
    let most = 0;
    for (const counts of this.#tenantsAt(nowMs)?.values() ?? []) {
      const failed = counts.tenant.failed.total(nowMs);
      if (failed <= most) continue;
      worst = counts;
      most = failed;
    }
    if (worst === null) return this.counts(nowMs);
    const others = totalsOf(worst.others, nowMs);
    return others.succeeded + others.failed >= othersMin ? others : this.counts(nowMs);
  }

  #remember(tenant: string): void {
    this.#tenants ??= new Map();
    if (this.#tenants.has(tenant) || this.#tenants.size >= tenantsMax) return;
    this.#tenants.set(tenant, { tenant: newCounts(), others: newCounts() });
  }

  #countForTenant(tenant: string, outcome: 'succeeded' | 'failed', nowMs: number): void {
    for (const [name, counts] of this.#tenants!) (name === tenant ? counts.tenant : counts.others)[outcome].add(nowMs);
  }

  /** Without those whose failures have left the window. */
  #tenantsAt(nowMs: number): ReadonlyMap<string, TenantCounts> | null {
    if (this.#tenants === null) return null;
    for (const [tenant, counts] of this.#tenants) {
      if (counts.tenant.failed.total(nowMs) === 0) this.#tenants.delete(tenant);
    }
    if (this.#tenants.size === 0) this.#tenants = null;
    return this.#tenants;
  }
}

function newCounts(): Counts {
  return { succeeded: newOutcomeCount(), failed: newOutcomeCount() };
}

/** Over the window of a target's health. */
export function newOutcomeCount(): RollingCount {
  return new RollingCount(windowBucketMs, windowBuckets);
}

function totalsOf({ succeeded, failed }: Counts, nowMs: number): Totals {
  return { succeeded: succeeded.total(nowMs), failed: failed.total(nowMs) };
}

/** Further attempts that hardly anything speaks for, as a part of the alias's requests in the last 10 s. */
const retryShare = 0.2;
/** Aliases remembered; a pattern's names come from callers. At the bound the oldest is forgotten. */
export const aliasesMax = 10_000;

/**
 * Keeps an outage from being multiplied: further attempts at targets that hardly ever answer share this budget, and so
 * do second attempts that run along with slow ones.
 */
export type RetryBudget = ReturnType<typeof createRetryBudget>;

interface AliasCounts {
  requests: RollingCount;
  retries: RollingCount;
  hedges: RollingCount;
}

const tenSeconds = () => new RollingCount(1_000, 10);

/** One budget for each alias, counted over the last 10 s. */
export function createRetryBudget() {
  const aliases = new Map<string, AliasCounts>();

  function newAlias(alias: string): AliasCounts {
    const counts = { requests: tenSeconds(), retries: tenSeconds(), hedges: tenSeconds() };
    putNewest(aliases, alias, counts, aliasesMax);
    return counts;
  }

  return {
    /** A request begins. */
    requested(alias: string, nowMs: number): void {
      (aliases.get(alias) ?? newAlias(alias)).requests.add(nowMs);
    },
    /** Takes one further attempt; false when the alias has none left just now. */
    take(alias: string, nowMs: number): boolean {
      const { requests, retries } = aliases.get(alias) ?? newAlias(alias);
      if (retries.total(nowMs) + 1 > retryShare * requests.total(nowMs)) return false;
      retries.add(nowMs);
      return true;
    },
    /** Takes one second attempt for a slow one, out of `share` (0 to 1) of the requests; one is always allowed. */
    takeHedge(alias: string, share: number, nowMs: number): boolean {
      const { requests, hedges } = aliases.get(alias) ?? newAlias(alias);
      if (hedges.total(nowMs) + 1 > Math.max(1, share * requests.total(nowMs))) return false;
      hedges.add(nowMs);
      return true;
    },
  };
}

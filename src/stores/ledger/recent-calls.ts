import type { RecentCall } from '../../books/metering/counters.ts';

/** Caller of a call: the same object for all calls that are alike. */
interface Caller {
  account: string;
  tenant: string;
  tier: string | null;
  endpoint: string;
}

/** More than these within the kept time (4,300 a second): the oldest are forgotten. A power of two. */
const recentCallsMax = 262_144;
const firstCapacity = 1_024;
const knownCallersMax = 10_000;
/** Calls come nearly in the order of their arrival. Behind one that is older by this, no other is looked at. */
const disorderMs = 5_000;

/**
 * The calls of the last minute or so, in memory: a scope of counters that is loaded while thousands of others call
 * would otherwise read a minute of everybody's events. A ring of 16 bytes a call that doubles while it is full.
 */
export class RecentCalls {
  readonly #retentionMs: number;
  #times = new Float64Array(firstCapacity);
  #callers: Caller[] = new Array(firstCapacity);
  #head = 0;
  #size = 0;
  readonly #known = new Map<string, Caller>();
  #last: Caller | null = null;

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  add(atMs: number, caller: Caller): void {
    const before = this.#last;
    const isSame =
      before !== null &&
      before.tenant === caller.tenant &&
      before.tier === caller.tier &&
      before.endpoint === caller.endpoint &&
      before.account === caller.account;
    const known = isSame ? before : this.#theOne(caller);
    while (this.#size > 0 && atMs - this.#times[this.#head]! >= this.#retentionMs) this.#forgetOldest();
    if (this.#size === recentCallsMax) this.#forgetOldest();
    else if (this.#size === this.#times.length) this.#widen();
    const at = (this.#head + this.#size) % this.#times.length;
    this.#times[at] = atMs;
    this.#callers[at] = known;
    this.#size += 1;
  }

  /** Calls of one account, newest first. */
  of(account: string, sinceMs: number): RecentCall[] {
    const found: RecentCall[] = [];
    for (let back = this.#size - 1; back >= 0; back -= 1) {
      const at = (this.#head + back) % this.#times.length;
      const atMs = this.#times[at]!;
      if (atMs < sinceMs - disorderMs) break;
      const { tenant, tier, endpoint, account: caller } = this.#callers[at]!;
      if (atMs >= sinceMs && caller === account) found.push({ atMs, tenant, tier, endpoint });
    }
    return found;
  }

  #theOne({ account, tenant, tier, endpoint }: Caller): Caller {
    const name = JSON.stringify([account, tenant, tier, endpoint]);
    let caller = this.#known.get(name);
    if (caller === undefined) {
      if (this.#known.size >= knownCallersMax) this.#known.clear();
      caller = { account, tenant, tier, endpoint };
      this.#known.set(name, caller);
    }
    this.#last = caller;
    return caller;
  }

  #forgetOldest(): void {
    this.#head = (this.#head + 1) % this.#times.length;
    this.#size -= 1;
  }

  #widen(): void {
    const times = new Float64Array(this.#times.length * 2);
    const callers: Caller[] = new Array(times.length);
    for (let at = 0; at < this.#size; at += 1) {
      const from = (this.#head + at) % this.#times.length;
      times[at] = this.#times[from]!;
      callers[at] = this.#callers[from]!;
    }
    this.#times = times;
    this.#callers = callers;
    this.#head = 0;
  }
}

import type { RecentCall } from '../../metering/counters.ts';

/** Who called: the same object for all calls that are alike. */
interface Caller {
  account: string;
  tenant: string;
  tier: string | null;
  endpoint: string;
}

export interface RecentCalls {
  add(atMs: number, caller: Caller): void;
  /** Of one account, newest first. */
  of(account: string, sinceMs: number): RecentCall[];
}

/** More than these within the time kept (4,300 a second): the oldest are forgotten. A power of two. */
const recentCallsMax = 262_144;
const firstCapacity = 1_024;
const knownCallersMax = 10_000;
/** Calls come nearly in the order of their arrival; behind one that is older by this nobody looks further. */
const disorderMs = 5_000;

/**
 * The calls of the last minute or so, in memory: a scope of counters that is loaded while thousands of others call
 * would otherwise read a minute of everybody's events. A ring of 16 bytes a call that doubles while it is full.
 */
export function createRecentCalls(keptMs: number): RecentCalls {
  let times = new Float64Array(firstCapacity);
  let callers: Caller[] = new Array(firstCapacity);
  let head = 0;
  let size = 0;
  const known = new Map<string, Caller>();
  let last: Caller | null = null;

  function theOne(caller: Caller): Caller {
    if (last !== null && isSame(last, caller)) return last;
    const name = JSON.stringify([caller.account, caller.tenant, caller.tier, caller.endpoint]);
    last = known.get(name) ?? null;
    if (last === null) {
      if (known.size >= knownCallersMax) known.clear();
      const { account, tenant, tier, endpoint } = caller;
      last = { account, tenant, tier, endpoint };
      known.set(name, last);
    }
    return last;
  }

  function makeRoom(): void {
    if (times.length === recentCallsMax) {
      head = (head + 1) % times.length;
      size -= 1;
      return;
    }
    const wider = new Float64Array(times.length * 2);
    const widerCallers: Caller[] = new Array(times.length * 2);
    for (let at = 0; at < size; at += 1) {
      const from = (head + at) % times.length;
      wider[at] = times[from]!;
      widerCallers[at] = callers[from]!;
    }
    times = wider;
    callers = widerCallers;
    head = 0;
  }

  return {
    add(atMs, caller) {
      while (size > 0 && atMs - times[head]! >= keptMs) {
        head = (head + 1) % times.length;
        size -= 1;
      }
      if (size === times.length) makeRoom();
      const at = (head + size) % times.length;
      times[at] = atMs;
      callers[at] = theOne(caller);
      size += 1;
    },
    of(account, sinceMs) {
      const found: RecentCall[] = [];
      for (let back = size - 1; back >= 0; back -= 1) {
        const at = (head + back) % times.length;
        const atMs = times[at]!;
        if (atMs < sinceMs - disorderMs) break;
        const caller = callers[at]!;
        if (atMs >= sinceMs && caller.account === account)
          found.push({ atMs, tenant: caller.tenant, tier: caller.tier, endpoint: caller.endpoint });
      }
      return found;
    },
  };
}

function isSame(a: Caller, b: Caller): boolean {
  return a.tenant === b.tenant && a.tier === b.tier && a.endpoint === b.endpoint && a.account === b.account;
}

import type { LookupFunction } from 'node:net';
import { putNewest } from '../../kernel/put-newest.ts';
import { type Address, createSystemResolver, type ResolveName } from './resolve-name.ts';
import { systemTime, type Time } from './timers.ts';
import { ConnectFailure, codeOf } from './transport-error.ts';

const ttlMaxMs = 60_000;
const ttlMinMs = 1_000;
/** How long the last good address serves while the name cannot be resolved. */
const staleMaxMs = 5 * 60_000;
/** A query that takes longer has failed for those who wait, but its late answer is still kept. */
const queryTimeoutMs = 2_000;
/** Between two queries of a name that fails, while its last good address serves. */
const retryFailedMs = 5_000;
/** Between two queries of a name whose addresses refuse connections. */
const askAgainMs = 1_000;
/** How long a refused connection waits for the answer of such a query. */
const askAgainWaitMs = 300;
const namesMax = 1_024;

/** A lookup that learns where a name does not answer. */
export interface Lookup extends LookupFunction {
  /**
   * Connections to these addresses of the name failed (none: nobody knows to which). The name is asked for again, at
   * most once a second. True when it has another address now.
   */
  failedAt(hostname: string, addresses: readonly string[]): Promise<boolean>;
  /** A connection to this address did not come about before the next one was tried. For five minutes it is tried last. */
  late(hostname: string, address: string): void;
}

interface KnownName {
  addresses: readonly Address[];
  /** Until when an address is tried last; of those that are. */
  lateUntilMs: ReadonlyMap<string, number>;
  /** On the monotonic clock. */
  freshUntilMs: number;
  staleUntilMs: number;
  /** The last query ended then. */
  queriedAtMs: number;
  /** The last query failed: answer with the known address, and ask in the background. */
  failing: boolean;
}

/**
 * A lookup for `net.connect` with a cache: an answer for its TTL, at most 60 s; the last good one for 5 min while the
 * name servers fail or hang. Simultaneous lookups of one name share one query. A name that hangs fails after 2 s with a
 * `ConnectFailure` of kind `dns` and holds up no other name.
 */
export function createLookup(options: { resolve?: ResolveName; time?: Time } = {}): Lookup {
  const resolve = options.resolve ?? createSystemResolver();
  const time = options.time ?? systemTime;
  const known = new Map<string, KnownName>();
  const queries = new Map<string, Promise<readonly Address[]>>();

  async function query(hostname: string): Promise<readonly Address[]> {
    try {
      const { addresses, ttlMs } = await resolve(hostname);
      if (addresses.length === 0) throw new ConnectFailure('dns', 'ENODATA');
      const nowMs = time.monotonicMs();
      const late = [...(known.get(hostname)?.lateUntilMs ?? [])].filter(([, untilMs]) => nowMs < untilMs);
      const lateUntilMs = new Map(late);
      const name = {
        ...{ addresses: lateLast(addresses, lateUntilMs), lateUntilMs },
        freshUntilMs: nowMs + Math.min(Math.max(ttlMs, ttlMinMs), ttlMaxMs),
        staleUntilMs: nowMs + staleMaxMs,
        queriedAtMs: nowMs,
        failing: false,
      };
      putNewest(known, hostname, name, namesMax);
      return name.addresses;
    } catch (error) {
      markFailing(hostname);
      throw new ConnectFailure('dns', codeOf(error));
    } finally {
      queries.delete(hostname);
    }
  }

  function markFailing(hostname: string): void {
    const name = known.get(hostname);
    if (name === undefined) return;
    name.failing = true;
    name.queriedAtMs = time.monotonicMs();
    name.freshUntilMs = name.queriedAtMs + retryFailedMs;
  }

  /** Starts a query or joins the one that runs; for those who wait it fails after `queryTimeoutMs`. */
  function ask(hostname: string): Promise<readonly Address[]> {
    let running = queries.get(hostname);
    if (running === undefined) {
      if (queries.size >= namesMax) return Promise.reject(new ConnectFailure('dns', 'EBUSY'));
      running = query(hostname);
      queries.set(hostname, running);
    }
    return inTime(time, running, () => markFailing(hostname));
  }

  /** Undefined when the name must be asked first. */
  function addressesNow(hostname: string): readonly Address[] | undefined {
    const name = known.get(hostname);
    if (name === undefined) return undefined;
    const nowMs = time.monotonicMs();
    if (nowMs < name.freshUntilMs && nowMs < name.staleUntilMs) return name.addresses;
    if (!name.failing || nowMs >= name.staleUntilMs) return undefined;
    // Its failure is already noted, and its result is remembered.
    ask(hostname).catch(() => undefined);
    return name.addresses;
  }

  function hasOther(hostname: string, addresses: readonly string[]): boolean {
    if (addresses.length === 0) return false;
    return known.get(hostname)?.addresses.some(({ address }) => !addresses.includes(address)) === true;
  }

  async function failedAt(hostname: string, addresses: readonly string[]): Promise<boolean> {
    const name = known.get(hostname);
    if (name === undefined) return false;
    if (hasOther(hostname, addresses)) return true;
    if (time.monotonicMs() - name.queriedAtMs < askAgainMs && !queries.has(hostname)) return false;
    await new Promise<void>((done) => {
      const alarm = time.after(askAgainWaitMs, done);
      const end = () => {
        time.cancel(alarm);
        done();
      };
      ask(hostname).then(end, end);
    });
    return hasOther(hostname, addresses);
  }

  function late(hostname: string, address: string): void {
    const name = known.get(hostname);
    if (name === undefined) return;
    name.lateUntilMs = new Map(name.lateUntilMs).set(address, time.monotonicMs() + staleMaxMs);
    name.addresses = lateLast(name.addresses, name.lateUntilMs);
  }

  const lookup: LookupFunction = (hostname, { all }, callback) => {
    const answer = (addresses: readonly Address[]): void => {
      const [first] = addresses;
      if (all) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family);
    };
    const now = addressesNow(hostname);
    if (now !== undefined) {
      answer(now);
      return;
    }
    ask(hostname).then(answer, (error) => {
      const name = known.get(hostname);
      if (name !== undefined && time.monotonicMs() < name.staleUntilMs) answer(name.addresses);
      else callback(error, '');
    });
  };
  return Object.assign(lookup, { failedAt, late });
}

/** Fails when the addresses do not come within `queryTimeoutMs`. */
function inTime(time: Time, running: Promise<readonly Address[]>, onTimeout: () => void): Promise<readonly Address[]> {
  return new Promise((done, fail) => {
    const alarm = time.after(queryTimeoutMs, () => {
      onTimeout();
      fail(new ConnectFailure('dns', 'ETIMEOUT'));
    });
    running.then(done, fail).finally(() => time.cancel(alarm));
  });
}

function lateLast(addresses: readonly Address[], lateUntilMs: KnownName['lateUntilMs']): readonly Address[] {
  if (lateUntilMs.size === 0) return addresses;
  const lateness = ({ address }: Address) => lateUntilMs.get(address) ?? 0;
  return addresses.toSorted((one, other) => lateness(one) - lateness(other));
}

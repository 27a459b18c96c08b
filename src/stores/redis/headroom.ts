import type { Limit, LimitState, Scope, Spent } from '../../books/metering/counters.ts';
import { every } from '../../kernel/every.ts';
import { Demand, demandMs } from './demand.ts';
import { statesOf } from './limits-on-wire.ts';
import { newLeaseId } from './lua-ahead.ts';
import type { OperationName, TurnAnswer } from './operation-turns.ts';
import { type ScopedPlan, tierCallMilli } from './plans.ts';
import type { Reply } from './wire.ts';

/**
 * No request is admitted from a lease that was asked for longer ago. Its reservation must be in the ledger by the time
 * that holds it for one that Redis held itself (`bookedMaxMs`), so that an epoch that forgets the lease finds it there.
 */
const leaseLifeMs = 400;

/** Leases whose end Redis did not answer; further ones count as used. */
const owedMax = 1_000;

const tidyEveryMs = 100;

/** The kind of what is leased: entries, or holds of a plan. */
export type LeaseKind = 'enter' | 'hold';

/** Headroom of all limits of a plan that Redis counts as used, for requests of this process. */
export interface Lease {
  id: string;
  /** Not used yet: milli-calls of entries, milli-units of holds; and requests. */
  milli: number;
  requests: number;
  /** Monotonic, when it was on its way to Redis. */
  sentMs: number;
  /** It may be used until then. */
  untilMs: number;
  /** Where it counts, by Redis' clock. */
  quotaMs: number;
  /** Names the generation first. */
  version: string;
  /** State of each limit, with all of the lease. */
  states: readonly LimitState[];
}

/** Tokens and USD that requests with the same scopes came to: the demand for post-paid limits. */
interface Spending {
  tokens: Demand;
  usdNano: Demand;
}

interface Line {
  kind: LeaseKind;
  account: string;
  plan: ScopedPlan;
  demand: Demand;
  lease: Lease | null;
  isAsking: boolean;
  notBeforeMs: number;
}

type Ask = (name: OperationName, account: string, plan: ScopedPlan, values: readonly string[]) => Promise<TurnAnswer>;

const operations = {
  enter: { ahead: 'enterAhead', back: 'enterBack' },
  hold: { ahead: 'holdAhead', back: 'holdBack' },
} as const;

export interface HeadroomParts {
  ask: Ask;
  ready(): boolean;
  /** Only ever goes on, at the pace of Redis' clock. */
  nowMs(): number;
}

/**
 * Admits from leases what is far from every limit. Redis counts a lease as used before anything is admitted from it, so
 * all replicas together never admit more than a limit allows. What is not used by its end is given back. A lease whose
 * replica dies, or whose end never reaches Redis, counts as used until its bucket leaves the window.
 */
export class Headroom {
  readonly #ask: Ask;
  readonly #ready: () => boolean;
  readonly #nowMs: () => number;
  readonly #lines = new WeakMap<ScopedPlan, Line>();
  readonly #spending = new WeakMap<readonly Scope[], Spending>();
  /** With a lease. */
  readonly #live = new Set<Line>();
  readonly #renewals = new Set<Promise<void>>();
  #owed: { line: Line; lease: Lease }[] = [];
  #stopTidying: (() => void) | null = null;
  #isClosed = false;

  constructor({ ask, ready, nowMs }: HeadroomParts) {
    this.#ask = ask;
    this.#ready = ready;
    this.#nowMs = nowMs;
  }

  /** The lease that this request was taken from; null: Redis must be asked. */
  take(kind: LeaseKind, account: string, plan: ScopedPlan, milli: number, scopes?: readonly Scope[]): Lease | null {
    if (this.#isClosed) return null;
    const line = this.#lineOf(kind, account, plan);
    const atMs = this.#nowMs();
    const { demand, lease } = line;
    demand.add(atMs, milli);
    const isShort = lease === null || lease.milli * 4 < demand.milli || atMs + demandMs / 4 > lease.untilMs;
    if (isShort && !line.isAsking && demand.isBusy() && demand.milli > 0 && atMs >= line.notBeforeMs && this.#ready())
      this.#begin(this.#renew(line, scopes === undefined ? undefined : this.#spending.get(scopes)));
    if (lease === null || lease.milli < milli || lease.requests < 1 || atMs >= lease.untilMs || !this.#ready())
      return null;
    lease.milli -= milli;
    lease.requests -= 1;
    return lease;
  }

  /** A request with these scopes came to this. */
  spent(scopes: readonly Scope[], { tokens, usdNano }: Spent): void {
    const atMs = this.#nowMs();
    let spending = this.#spending.get(scopes);
    if (spending === undefined) {
      spending = { tokens: new Demand(), usdNano: new Demand() };
      this.#spending.set(scopes, spending);
    }
    spending.tokens.add(atMs, tokens);
    spending.usdNano.add(atMs, usdNano);
  }

  /** Gives everything back. Resolves when leases that were on their way are given back, too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTidying?.();
    for (const line of this.#live) void this.#end(line);
    await Promise.all(this.#renewals);
  }

  #begin(renewal: Promise<void>): void {
    this.#renewals.add(renewal);
    void renewal.finally(() => this.#renewals.delete(renewal));
  }

  #lineOf(kind: LeaseKind, account: string, plan: ScopedPlan): Line {
    const known = this.#lines.get(plan);
    if (known !== undefined) return known;
    const line: Line = { kind, account, plan, demand: new Demand(), lease: null, isAsking: false, notBeforeMs: 0 };
    this.#lines.set(plan, line);
    return line;
  }

  /** Asks for another lease; requests go to Redis meanwhile, or use up the one that there is. */
  async #renew(line: Line, spending: Spending | undefined): Promise<void> {
    const { kind, account, plan, demand } = line;
    const { milli, requests } = demand;
    const id = newLeaseId();
    const spent = [spending?.tokens.milli ?? 0, spending?.usdNano.milli ?? 0];
    const values = kind === 'enter' ? [String(milli)] : [id, ...[milli, requests, ...spent].map(String)];
    line.isAsking = true;
    const startedMs = this.#nowMs();
    const { answer, sentMs } = await this.#ask(operations[kind].ahead, account, plan, values);
    line.isAsking = false;
    if (typeof answer === 'string' || answer[0] !== 0 || answer[1] === 0) {
      line.notBeforeMs = this.#nowMs() + demandMs;
      // It may have been granted: then it ends at once.
      if (answer === 'unknown' && kind === 'hold')
        this.#owe(line, { id, milli, requests, sentMs, untilMs: 0, quotaMs: 0, version: '', states: [] });
      return;
    }
    void this.#end(line);
    line.lease = leaseOf(answer, line, startedMs, { id, milli, requests, sentMs });
    this.#live.add(line);
    if (this.#isClosed) void this.#end(line);
    else this.#tidyLater();
  }

  #end(line: Line): Promise<void> {
    const { lease } = line;
    if (lease === null) return Promise.resolve();
    line.lease = null;
    this.#live.delete(line);
    return this.#giveBack(line, lease);
  }

  async #giveBack(line: Line, lease: Lease): Promise<void> {
    const { id, milli, requests, quotaMs, version } = lease;
    const isHold = line.kind === 'hold';
    if (!isHold && milli === 0) return;
    const values = isHold ? [id, milli, requests, version] : [milli, quotaMs, version];
    const { answer } = await this.#ask(operations[line.kind].back, line.account, line.plan, values.map(String));
    // Twice would give calls back that another lease holds.
    if (typeof answer === 'string' && isHold) this.#owe(line, lease);
  }

  #owe(line: Line, lease: Lease): void {
    if (this.#owed.length < owedMax) this.#owed.push({ line, lease });
    this.#tidyLater();
  }

  #tidyLater(): void {
    if (this.#isClosed || this.#stopTidying !== null) return;
    this.#stopTidying = every(tidyEveryMs, () => this.#tidy());
  }

  #tidy(): void {
    const atMs = this.#nowMs();
    if (this.#ready()) {
      for (const line of this.#live) if (line.lease !== null && atMs >= line.lease.untilMs) void this.#end(line);
      const owed = this.#owed;
      this.#owed = [];
      for (const { line, lease } of owed) void this.#giveBack(line, lease);
    }
    if (this.#live.size > 0 || this.#owed.length > 0 || this.#stopTidying === null) return;
    this.#stopTidying();
    this.#stopTidying = null;
  }
}

/** States for a request that was just taken from a lease, written over `states`. */
export function statesAfter(
  lease: Lease,
  kind: LeaseKind,
  limits: readonly Pick<Limit, 'measure'>[],
  states: LimitState[],
): LimitState[] {
  states.length = limits.length;
  for (const [i, { used, leavesAtMs }] of lease.states.entries()) {
    const measure = limits[i]?.measure;
    const isAll = kind === 'enter' || measure === 'units';
    const left = isAll ? lease.milli : measure === 'calls' ? lease.requests * tierCallMilli : 0;
    const state = states[i];
    if (state === undefined) states[i] = { used: used - left, leavesAtMs };
    else {
      state.used = used - left;
      state.leavesAtMs = leavesAtMs;
    }
  }
  return states;
}

/** `[0, instant, version, states…]` */
function leaseOf(
  answer: readonly Reply[],
  { kind, plan }: Line,
  sentMs: number,
  lease: Pick<Lease, 'id' | 'milli' | 'requests' | 'sentMs'>,
): Lease {
  const quotaMs = answer[1] as number;
  // What is taken counts at its instant, so it is taken before that bucket is over.
  const bucketMs = kind === 'enter' || plan.args.includes('c') ? 1_000 : 60_000;
  const untilMs = sentMs + Math.min(leaseLifeMs, bucketMs - (quotaMs % bucketMs));
  return { ...lease, quotaMs, untilMs, version: String(answer[2]), states: statesOf(answer, 3) };
}

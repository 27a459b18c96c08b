import { setImmediate as nextTurn } from 'node:timers/promises';
import { every } from '../../../kernel/every.ts';
import { endless } from '../../../kernel/limits.ts';
import type { Principal } from '../../auth/principal.ts';
import type { ObserveLimits } from '../admission.ts';
import type { Limit, LimitState } from '../counters.ts';
import { createNoticeDelivery, type DeliveryParts } from './notice-delivery.ts';
import { type Mover, softLimitOf, thresholdNotice } from './notice-message.ts';
import type { Crossing, NoticeStore } from './notice-store.ts';

/** Tells an operator's webhook when windows fill up (design §11). Advisory: nothing here ever holds a request up. */
export interface Notices {
  /** Never throws, never waits. The watches of a list of limits are worked out once. */
  observe: ObserveLimits;
  /** Called when a notice was queued that is to go out now. */
  deliver(): void;
  /** Takes up what earlier processes have crossed and not delivered. */
  start(): Promise<void>;
  /** Nothing is begun any more; resolves when no try is under way, or after a second. */
  stop(): Promise<void>;
}

/** Maximum time until a crossing of another process, or its end, is known here. */
const refreshIntervalMs = 60_000;
/** Crossings or limits that one turn of the loop looks at. */
const readAtOnce = 1_000;
/** Maximum number of watched limits. At the bound all are forgotten and made again on demand. */
const gaugesMax = 100_000;

interface Watched extends Gauge {
  /** The last amount that is not handled yet. */
  seen: { mover: Mover; state: LimitState } | null;
  busy: boolean;
}

/** A gauge of a limit, at the limit's place in its list. */
interface WatchedAt {
  at: number;
  gauge: Watched;
}

export function createNotices(parts: DeliveryParts): Notices {
  const { store, plans, clock, onTrouble } = parts;
  const delivery = createNoticeDelivery(parts);
  let watchedByList = new WeakMap<readonly Limit[], readonly WatchedAt[]>();
  const gauges = new Map<string, Watched>();
  /** State of the store, for gauges that are made. */
  let crossed = new Set<string>();
  /** Gauges that this process has moved since the store was last read. */
  let moved = new Set<Watched>();
  let inTrouble = false;
  let stopRefreshing: (() => void) | null = null;

  function watchedOf(plan: string, limits: readonly Limit[]): readonly WatchedAt[] {
    const { notify } = plans().plan(plan);
    if (notify === null) return [];
    if (gauges.size > gaugesMax) {
      gauges.clear();
      watchedByList = new WeakMap();
    }
    return limits.flatMap((limit, at) => {
      const hard = watchedLimit(gauges, crossed, limit, notify.shares);
      const soft = limit.soft === undefined ? null : watchedLimit(gauges, crossed, softLimitOf(limit, limit.soft), [1]);
      return [hard, soft].flatMap((gauge) => (gauge === null ? [] : [{ at, gauge }]));
    });
  }

  function moverOf({ account, keyName, plan }: Principal): Mover {
    return { account, keyName, plan: plans().plan(plan).name };
  }

  /** One at a time for a limit; the amount that comes meanwhile is handled next. */
  async function deal(gauge: Watched): Promise<void> {
    gauge.busy = true;
    moved.add(gauge);
    try {
      while (gauge.seen !== null) {
        const { seen } = gauge;
        await move(gauge, seen.mover, seen.state);
        if (gauge.seen === seen) gauge.seen = null;
      }
      inTrouble = false;
    } catch (error) {
      // The amount stays for the next request or the next refresh.
      if (!inTrouble) onTrouble(`quota notices cannot be stored: ${String(error)}`);
      inTrouble = true;
    } finally {
      gauge.busy = false;
    }
  }

  async function move(gauge: Watched, mover: Mover, state: LimitState): Promise<void> {
    const { limit, marks } = gauge;
    for (const mark of marks) {
      const { share } = mark;
      if (!mark.crossed && state.used >= mark.at) {
        const nowMs = clock.wallMs();
        const crossing = { scope: limit.scope, limit: limit.id, share, crossedMs: nowMs };
        const first = await store.cross(crossing, thresholdNotice(mover, limit, share, state, nowMs));
        if (first) delivery.look();
        mark.crossed = true;
        crossed.add(nameOf(limit.scope, limit.id, share));
      } else if (mark.crossed && state.used < mark.rearmBelow) {
        await store.rearm(limit.scope, limit.id, share);
        mark.crossed = false;
        crossed.delete(nameOf(limit.scope, limit.id, share));
      } else continue;
      setBounds(gauge);
    }
  }

  /** Notices of other processes. */
  async function refresh(): Promise<void> {
    try {
      moved = new Set();
      for (const gauge of gauges.values()) if (gauge.busy) moved.add(gauge);
      crossed = await readCrossed(store);
      let seen = 0;
      for (const gauge of gauges.values()) {
        if (++seen % readAtOnce === 0) await nextTurn();
        const { scope, id } = gauge.limit;
        // The change that this process makes may be newer than the state that was read.
        const moving = gauge.busy || moved.has(gauge);
        for (const mark of gauge.marks) {
          const name = nameOf(scope, id, mark.share);
          if (!moving) mark.crossed = crossed.has(name);
          else if (mark.crossed) crossed.add(name);
          else crossed.delete(name);
        }
        setBounds(gauge);
        if (gauge.seen !== null && !gauge.busy) void deal(gauge);
      }
    } catch (error) {
      if (!inTrouble) onTrouble(`quota notices cannot be read: ${String(error)}`);
      inTrouble = true;
    }
  }

  return {
    observe({ principal }, limits, states) {
      let watched = watchedByList.get(limits);
      if (watched === undefined) {
        watched = watchedOf(principal.plan, limits);
        watchedByList.set(limits, watched);
      }
      for (const { at, gauge } of watched) {
        const state = states[at];
        if (state === undefined) continue;
        if (state.used < gauge.up && state.used >= gauge.down) continue;
        // Copies: a driver may reuse its objects.
        gauge.seen = { mover: moverOf(principal), state: { ...state } };
        if (!gauge.busy) void deal(gauge);
      }
    },
    deliver: () => void delivery.look(),
    async start() {
      await refresh();
      stopRefreshing = every(refreshIntervalMs, () => void refresh());
      delivery.start();
    },
    async stop() {
      stopRefreshing?.();
      await delivery.stop();
    },
  };
}

/** Names of all crossings. There may be some for each account: no turn of the loop reads them all. */
async function readCrossed(store: Pick<NoticeStore, 'crossings'>): Promise<Set<string>> {
  const names = new Set<string>();
  for (let behind: Crossing | null = null; ; await nextTurn()) {
    const rows: readonly Crossing[] = await store.crossings(behind, readAtOnce);
    for (const { scope, limit, share } of rows) names.add(nameOf(scope, limit, share));
    if (rows.length < readAtOnce) return names;
    behind = rows.at(-1) ?? null;
  }
}

/** The gauge of a limit, made where there is none yet. */
function watchedLimit(
  gauges: Map<string, Watched>,
  crossed: ReadonlySet<string>,
  limit: Limit,
  shares: readonly number[],
): Watched | null {
  const name = `${nameOf(limit.scope, limit.id, limit.allowed)} ${shares.join(' ')}`;
  const there = gauges.get(name);
  if (there !== undefined) return there;
  const gauge = gaugeOf(limit, shares, (share) => crossed.has(nameOf(limit.scope, limit.id, share)));
  if (gauge === null) return null;
  const watched: Watched = { ...gauge, seen: null, busy: false };
  gauges.set(name, watched);
  return watched;
}

function nameOf(scope: string, limit: string, number: number): string {
  return `${scope} ${limit} ${number}`;
}

/** One share of a limit, and what is known of it. Amounts are the limit's whole numbers. */
interface Mark {
  share: number;
  /** Used up to here or more: it is crossed. */
  at: number;
  /** Below this a crossed one may be reported again. */
  rearmBelow: number;
  crossed: boolean;
}

/** A limit with shares to watch. Mutable: it is looked at on every request, and almost never moves. */
interface Gauge {
  limit: Limit;
  /** Ascending. */
  marks: readonly Mark[];
  /** Nothing is to be done while `down` ≤ used < `up`. */
  up: number;
  down: number;
}

/** Share by which use must fall before the next crossing is reported: use that flickers around the share is not. */
const rearmShare = 0.05;

/** Null for a limit that is not a window, or cannot fill up. */
function gaugeOf(limit: Limit, shares: readonly number[], known: (share: number) => boolean): Gauge | null {
  const { measure, span, allowed } = limit;
  if (measure === 'calls' || span === 'minute' || !(allowed > 0) || allowed >= endless) return null;
  const marks = [...new Set(shares)]
    .sort((a, b) => a - b)
    .map((share) => ({
      share,
      // 0.07 × 100 is 7.000000000000001 to the machine, and 7 to the person who wrote it.
      at: Math.ceil(share * allowed - 1e-6),
      rearmBelow: Math.max(share - rearmShare, share / 2) * allowed,
      crossed: known(share),
    }));
  const gauge: Gauge = { limit, marks, up: 0, down: 0 };
  setBounds(gauge);
  return gauge;
}

/** After marks have moved. */
function setBounds(gauge: Gauge): void {
  gauge.up = Number.POSITIVE_INFINITY;
  gauge.down = Number.NEGATIVE_INFINITY;
  for (const mark of gauge.marks) {
    if (mark.crossed) gauge.down = Math.max(gauge.down, mark.rearmBelow);
    else gauge.up = Math.min(gauge.up, mark.at);
  }
}

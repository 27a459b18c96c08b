import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Health } from './health.ts';
import { type AnswerKind, UsualTime } from './lane.ts';
import type { HedgeReason, RouteAttempt } from './route.ts';

/** While it is not known how long a target usually takes. */
const unknownSilenceMs = 10_000;
const unknownWholeMs = 30_000;
/** Even a target that usually answers in less gets this long: the network has hiccups. */
const usualMinMs = 1_000;
/** How long the probe of a silent target waits before the request is also asked elsewhere. */
const probePatienceMs = 500;
const usualShare = 0.99;
/** A request is read no slower than this before its answer begins: short ones do not tell how long that takes. */
export const readTokensPerS = 10_000;
const readingMaxMs = 60_000;
/** Samples by which a configured percentile is known. */
const percentileSamplesMin = 100;
/** A stream has stalled after so many times the longest silence that is usual within its target's streams. */
const stalledFactor = 4;
/** A stream is never said to have stalled sooner; later while its target is not known. */
const stalledMinMs = 1_500;
const stalledUnknownMinMs = 2_000;
/** So many streams of all targets tell enough for one that is not known: nobody waits for twenty in an outage. */
const allSamplesMin = 5;
/** A stream that ends so soon had no silence worth the name. */
const shortStreamMs = 500;
/** A look that comes so late tells of our own loop: bytes may be waiting to be read. */
const lateLookMs = 1_500;

/** An attempt under watch. */
export interface Watched {
  /** Grows with every sign of life: head, bytes. */
  readonly signs: number;
  /** Its answer is not the client's yet. */
  readonly awaiting: boolean;
  /** A slow reader holds it back, so that its silence says nothing. */
  readonly paused: boolean;
}

/** Called when an attempt has been silent for too long. */
export interface Overdue<W extends Watched = Watched> {
  /** It should be made elsewhere as well; true when that was done. */
  overdue(reason: HedgeReason): boolean;
  /** Its answer has stopped after the first content. */
  stalled(attempt: W): void;
}

/** One attempt that runs. */
export interface SilenceEntry extends Readonly<Pick<RouteAttempt, 'lane' | 'startedMs' | 'probe'>> {
  readonly kind: AnswerKind;
  /** The same as in the hedge policy. */
  readonly hedgeAfter: number | null;
  /** Monotonic ms at which half of the time is gone that its request had left when it began. */
  readonly halfwayMs: number;
  /** By which it may be silent for longer; absent: 0. */
  readonly inputTokens?: number;
  /** Its target's; null: none. */
  readonly maxFirstTokenMs: number | null;
  readonly attempt: Watched;
  readonly observer: Overdue;
}

/** Looks now and then at running attempts: silence is a signal long before a timeout. */
export type SilenceWatch = ReturnType<typeof createSilenceWatch>;

/** The watch's facts of an attempt. */
export interface Seen {
  readonly entry: SilenceEntry;
  signs: number;
  /** It was made elsewhere as well. */
  hedged: boolean;
  /** Its answer has stopped after the first content. */
  stalled: boolean;
  /** After its first content: the last look that found new signs (-1: none yet), and the longest silence, in ms. */
  contentAtMs: number;
  longestGapMs: number;
  /** Its place among those that are watched. */
  at: number;
}

/**
 * A target is suspect when requests are in flight and none has shown anything for longer than usual there. Its requests
 * are sent elsewhere after that target's usual time for such an answer; whole answers of others, too, as `slow`. A
 * stream that stops after its first content counts against its target long before its timeout.
 */
export function createSilenceWatch(health: Health, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
  // The first `count` places. Not a Map: each table that one leaves behind holds the requests that stood in it, which
  // keeps all that they made from being collected young (measured: 30 µs a request).
  const places: (Seen | null)[] = [];
  let count = 0;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  const gaps = new StreamGaps();

  function listen(nowMs: number): void {
    for (let at = 0; at < count; at++) {
      const seen = places[at]!;
      const { signs } = seen.entry.attempt;
      if (signs === seen.signs) continue;
      seen.signs = signs;
      seen.entry.lane.state.respondedAtMs = nowMs;
      if (seen.contentAtMs >= 0) gaps.contentSeen(seen, nowMs);
    }
  }

  return {
    /** Until `ended` of the result. */
    began(entry: SilenceEntry): Seen {
      const seen = { entry, signs: 0, hedged: false, stalled: false, contentAtMs: -1, longestGapMs: 0, at: count };
      places[count] = seen;
      count += 1;
      return seen;
    },
    ended(seen: Seen): void {
      const { at, entry } = seen;
      // One that no look found open was too short for a gap, or was put together for a whole answer.
      const wasSeen = seen.contentAtMs >= 0 || checkedAtMs - entry.startedMs < shortStreamMs;
      if (entry.kind === 'stream' && !seen.stalled && !entry.attempt.awaiting && wasSeen)
        gaps.observe(seen, checkedAtMs);
      count -= 1;
      const last = places[count]!;
      places[at] = last;
      last.at = at;
      places[count] = null;
    },
    /** Call it a few times a second; by default, now. */
    look(nowMs: number = clock.monotonicMs()): void {
      const late = nowMs - checkedAtMs > lateLookMs;
      checkedAtMs = nowMs;
      if (count > 0) listen(nowMs);
      if (late) return;
      // Of a copy: overdue ones begin elsewhere, and others end for it.
      for (const seen of places.slice(0, count) as Seen[]) {
        const { entry } = seen;
        if (places[seen.at] !== seen) continue;
        if (!entry.attempt.awaiting) {
          if (entry.kind === 'stream') gaps.watch(seen, nowMs);
          continue;
        }
        const { state } = entry.lane;
        const usualMs = usualOf(entry, usualShare, nowMs);
        const silentMs = nowMs - Math.max(entry.startedMs, state.respondedAtMs);
        const silent = isSilent(entry);
        if (!silent && silentMs > (usualMs ?? unknownSilenceOf(entry))) health.fellSilent(entry.lane, nowMs);
        if (seen.hedged) continue;
        const reason = overdueReason(entry, usualMs, nowMs);
        if (reason !== null) seen.hedged = entry.observer.overdue(reason);
      }
    },
  };
}

/** Silences within streams, after their first content. */
class StreamGaps {
  /** The longest of each stream of all targets: what a target that is not known is judged by. */
  readonly #all = new UsualTime();

  /** New signs were found. */
  contentSeen(seen: Seen, nowMs: number): void {
    const gapMs = nowMs - seen.contentAtMs;
    seen.contentAtMs = nowMs;
    if (gapMs > seen.longestGapMs) seen.longestGapMs = gapMs;
    // It had only paused: that is known at once, not at its end.
    if (seen.stalled) this.observe(seen, nowMs);
    seen.stalled = false;
  }

  /** Counts the longest silence of a stream. */
  observe({ entry: { lane }, longestGapMs }: Seen, nowMs: number): void {
    lane.state.gaps ??= new UsualTime();
    lane.state.gaps.observe(longestGapMs, nowMs);
    this.#all.observe(longestGapMs, nowMs);
  }

  /** Notes a stream that is quiet for too long. */
  watch(seen: Seen, nowMs: number): void {
    if (seen.contentAtMs < 0 || seen.entry.attempt.paused) seen.contentAtMs = nowMs;
    if (seen.stalled || nowMs - seen.contentAtMs <= stalledAfterMs(seen.entry.lane.state.gaps, this.#all, nowMs))
      return;
    seen.stalled = true;
    seen.entry.observer.stalled(seen.entry.attempt);
  }
}

/** How long a stream may be quiet after its first content, by the usual silence of its target's streams and of all. */
function stalledAfterMs(ofTarget: UsualTime | null, all: UsualTime, nowMs: number): number {
  const targetMs = ofTarget?.percentileMs(usualShare, nowMs) ?? null;
  if (targetMs !== null) return Math.max(stalledMinMs, stalledFactor * targetMs);
  const someMs = ofTarget?.percentileMs(usualShare, nowMs, 1) ?? 0;
  const allMs = all.percentileMs(usualShare, nowMs, allSamplesMin) ?? 0;
  return Math.max(stalledUnknownMinMs, stalledFactor * Math.max(someMs, allMs));
}

/** Time for a target to read a long prompt, or many texts, in ms. */
export function readingMsOf(inputTokens: number): number {
  return Math.min(readingMaxMs, Math.floor(inputTokens / readTokensPerS) * 1_000);
}

function overdueReason(entry: SilenceEntry, usualMs: number | null, nowMs: number): HedgeReason | null {
  const waitedMs = nowMs - entry.startedMs;
  if (isSilent(entry)) {
    const patienceMs = entry.probe ? probePatienceMs : (usualMs ?? unknownPatienceMs(entry));
    if (waitedMs > patienceMs) return 'silent';
  }
  // The last moment at which another one still has as much time as this one had.
  if (nowMs >= entry.halfwayMs) return 'late';
  if (isSilent(entry)) return null;
  if (entry.kind === 'stream' && entry.maxFirstTokenMs !== null && waitedMs > entry.maxFirstTokenMs) return 'late';
  if (entry.kind !== 'stream') return waitedMs > (usualMs ?? unknownPatienceMs(entry)) ? 'slow' : null;
  if (entry.hedgeAfter === null) return null;
  const slowMs = entry.lane.state.usual.stream?.percentileMs(entry.hedgeAfter, nowMs, percentileSamplesMin);
  return slowMs != null && waitedMs > slowMs ? 'slow' : null;
}

/** A target that used up half of a request's time and showed nothing is suspect, however little is known of it. */
function unknownSilenceOf({ startedMs, halfwayMs, inputTokens = 0 }: SilenceEntry): number {
  return Math.max(stalledMinMs, Math.min(unknownSilenceMs + readingMsOf(inputTokens), halfwayMs - startedMs));
}

function unknownPatienceMs({ kind, inputTokens = 0 }: SilenceEntry): number {
  return (kind === 'stream' ? unknownSilenceMs : unknownWholeMs) + readingMsOf(inputTokens);
}

function usualOf({ lane, kind, inputTokens = 0 }: SilenceEntry, share: number, nowMs: number): number | null {
  const ms = lane.state.usual[kind]?.percentileMs(share, nowMs) ?? null;
  return ms === null ? null : Math.max(usualMinMs, ms) + readingMsOf(inputTokens);
}

function isSilent({ lane: { state } }: SilenceEntry): boolean {
  const { breaker } = state;
  return (breaker.at === 'open' || breaker.at === 'probing') && breaker.why === 'silent';
}

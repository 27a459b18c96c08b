import { usdOf } from '../formats/neutral/price.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import { healthOf } from './lane.ts';
import { loadOf, type Pickable } from './pick.ts';
import type { Target } from './target.ts';

/** By what an alias chooses among equals, before weights do. */
export const preferences = ['cheapest', 'fastest', 'balanced'] as const;
export type Preference = (typeof preferences)[number];

/** A target that could be asked now, with the lane it would use. */
export type Preferable = Pickable & { target: PricedTarget };

/** A target's price, and what it makes. */
type PricedTarget = Pick<Target, 'price' | 'image' | 'video' | 'transcription'>;

/** Basis of a choice by price and time. Times are ms: wall-clock for prices, monotonic for measurements. */
export interface PreferredFor {
  by: Preference;
  needs: Pick<RequestNeeds, 'inputTokensEstimate' | 'maxOutputTokens'>;
  atMs: number;
  nowMs: number;
}

/** Times and products of them are equal within this factor, or all traffic would follow each millisecond. */
const equalFactor = 1.25;
/** For conversations, whose own target has their prompt in its cache. */
const affinityEqualFactor = 2;

/**
 * The preferred ones among options, which are not empty: one of them is picked as usual. Deterministic. An unknown
 * price counts as the highest of all; where none is known, price does not decide.
 */
export function preferredOf<T extends Preferable>(
  options: readonly T[],
  preference: PreferredFor,
  affinity: number | null,
): readonly T[] {
  if (options.length === 1) return options;
  const scores = scoresOf(options, preference);
  const factor = preference.by === 'cheapest' ? 1 : affinity === null ? equalFactor : affinityEqualFactor;
  const most = Math.min(...scores) * factor;
  return options.filter((_, at) => scores[at]! <= most);
}

/** Measurements fade slowly: a slow or dear target is tried anew every minute or two, not every few seconds. */
const fadesInMs = 60_000;

/** Lower is better: USD, ms to the first token, or their product. */
function scoresOf(options: readonly Preferable[], preference: PreferredFor): number[] {
  const { by, nowMs } = preference;
  const time = ({ state }: Preferable) => loadOf(state, nowMs, fadesInMs) / healthOf(state, nowMs);
  if (by === 'fastest') return options.map(time);
  const usd = options.map(({ target }) => expectedUsd(target, preference));
  if (usd.every((one) => one === null)) return options.map(by === 'cheapest' ? () => 0 : time);
  return options.map((option, at) => {
    const cost = usd[at] ?? Number.POSITIVE_INFINITY;
    // What is free is not thereby the best however slow: its price counts as a billionth of a USD.
    return by === 'cheapest' ? cost : Math.max(cost, 1e-9) * time(option);
  });
}

/** Tokens of an answer whose caller states no maximum, or a higher one. */
const usualOutputTokens = 500;

/** Rough cost of a request at a target, in USD; null where its price is unknown. */
function expectedUsd(
  { price, image, video, transcription }: PricedTarget,
  { needs, atMs }: Omit<PreferredFor, 'by' | 'nowMs'>,
): number | null {
  const outputTokens = Math.min(needs.maxOutputTokens ?? usualOutputTokens, usualOutputTokens);
  // One of what it makes: how many are wanted is the same for all targets.
  const made = {
    // Nothing but speech is priced by them.
    characters: 1_000,
    ...(image !== undefined && { images: 1 }),
    ...(video !== undefined && { videoSeconds: 1 }),
    ...(transcription !== undefined && { audioMs: 60_000 }),
  };
  return usdOf({ inputTokens: needs.inputTokensEstimate, outputTokens, ...made }, price, atMs);
}

/** Why an option is preferred or not, for people. */
export function preferenceReason(option: Preferable, preference: PreferredFor): string {
  const usd = expectedUsd(option.target, preference);
  const price = usd === null ? 'of unknown price' : `about ${usd.toFixed(9).replace(/\.?0+$/, '')} USD`;
  const time = `${Math.round(loadOf(option.state, preference.nowMs, fadesInMs))} ms to the first token`;
  if (preference.by === 'fastest') return time;
  return preference.by === 'cheapest' ? price : `${price}, ${time}`;
}

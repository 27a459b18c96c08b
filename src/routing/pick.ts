import type { Random } from '../kernel/random.ts';
import { healthOf, type LaneState, wholeShareOf } from './lane.ts';

/** Options for picking: targets, each with the lane it would use, and the lanes of one target. */
export interface Pickable {
  weight: number;
  /** Stable hash of its id. */
  key: number;
  state: LaneState;
}

/**
 * Equals: the loads of two options differ by less than this factor. Then the weighted draw decides, so that weights
 * are shares of the traffic; measured times alone would send all of it to whichever is a millisecond ahead.
 */
const equalFactor = 1.25;
/**
 * For a conversation's own target: a warm prompt cache outweighs up to twice the load, which at low traffic is one
 * request in flight against none.
 */
const affinityEqualFactor = 2;
/** The same where its alias cares for prompt caches: to read a prompt anew costs up to ten times as much. */
export const warmEqualFactor = 8;

/**
 * One of several ready options: two are drawn by weight × health (with affinity the first is the conversation's own),
 * and the first is kept unless the second is clearly better by PeakEWMA × (in flight + 1) / (weight × health).
 * `options` is not empty. `affinityFactor`: how much more load a conversation's own target may have.
 */
export function pick<T extends Pickable>(
  options: readonly T[],
  affinity: number | null,
  random: Random,
  nowMs: number,
  affinityFactor = affinityEqualFactor,
): T {
  if (options.length === 1) return options[0]!;
  const first = affinity === null ? drawByWeight(options, null, random, nowMs) : affinityTarget(options, affinity);
  const second = options.length === 2 ? other(options, first) : drawByWeight(options, first, random, nowMs);
  // A draw has already counted the health; a conversation's own target was chosen without it.
  const firstHealth = affinity === null ? 1 : healthOf(first.state, nowMs);
  const factor = affinity === null ? equalFactor : affinityFactor;
  return isClearlyBetter(second, first, firstHealth, factor, nowMs) ? second : first;
}

/**
 * PeakEWMA × (in flight + 1): expected ms before a new request's first token. `fadesInMs`: how fast what was measured of
 * a target that has no requests is forgotten.
 */
export function loadOf(state: LaneState, nowMs: number, fadesInMs?: number): number {
  // What fails shows no first token, and must not look fast for that: it has no scouts, its health decides.
  const fails = state.share.at(nowMs) < failingShare || wholeShareOf(state, nowMs) < failingShare;
  const awaiting = fails ? Math.max(1, state.awaiting) : state.awaiting;
  return state.firstToken.readMs(awaiting, nowMs, fadesInMs) * (state.inFlight + 1);
}

const failingShare = 0.9;

function isClearlyBetter(
  candidate: Pickable,
  holder: Pickable,
  holderHealth: number,
  factor: number,
  nowMs: number,
): boolean {
  const candidateLoad = (loadOf(candidate.state, nowMs) * factor) / healthOf(candidate.state, nowMs);
  const holderLoad = loadOf(holder.state, nowMs) / holderHealth;
  // Both unloaded and alike: by weight, the heavier would always be picked here, and weight 1 against 3 get nothing.
  if (candidate.state.inFlight === 0 && holder.state.inFlight === 0 && candidateLoad >= holderLoad) return false;
  return candidateLoad * holder.weight < holderLoad * candidate.weight;
}

function drawByWeight<T extends Pickable>(options: readonly T[], without: T | null, random: Random, nowMs: number): T {
  let sum = 0;
  for (const option of options) if (option !== without) sum += option.weight * healthOf(option.state, nowMs);
  let left = random.next() * sum;
  let last = options[0]!;
  for (const option of options) {
    if (option === without) continue;
    last = option;
    left -= option.weight * healthOf(option.state, nowMs);
    if (left < 0) break;
  }
  return last;
}

function other<T>(pair: readonly T[], one: T): T {
  return pair.find((each) => each !== one) ?? one;
}

function affinityTarget<T extends Pickable>(options: readonly T[], affinity: number): T {
  let best = options[0]!;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const option of options) {
    const score = rendezvousScore(affinity, option.key, option.weight);
    if (score > bestScore) {
      best = option;
      bestScore = score;
    }
  }
  return best;
}

/** FNV-1a, 32 bit, over UTF-16 code units: quick and good enough to spread conversations over a few targets. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Characters of a conversation that are hashed: its first messages differ well before that. */
const hashedCharsMax = 4_096;

/**
 * The number by which a conversation finds its target again: of the tenant and of the caller's session, or of the
 * conversation's first messages as text. Not secret, not unique.
 */
export function affinityOf(tenant: string, session: string): number {
  const start = session.length > hashedCharsMax ? session.slice(0, hashedCharsMax) : session;
  return hashText(start, hashText('\n', hashText(tenant)));
}

/**
 * One option's draw in the contest for a conversation (weighted rendezvous hashing): the highest is picked, every
 * option as often as its weight says, and when one leaves or joins only its own conversations move.
 */
export function rendezvousScore(affinity: number, key: number, weight: number): number {
  // Murmur3's finalizer: FNV alone leaves neighbours alike.
  let mixed = affinity ^ Math.imul(key, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  const uniform = (((mixed ^ (mixed >>> 16)) >>> 0) + 1) / 4_294_967_298;
  return -weight / Math.log(uniform);
}

import { dayMs } from '../../kernel/clock.ts';
import type { Usage } from './usage.ts';

/**
 * Priced units: how each is marked, and how many of it a price in USD is for. A unit whose marks include all of
 * another's is a part of that one: cached sound is a part of cached input and of sound, and both are parts of the input.
 * A part without a separate price costs what the whole costs.
 */
const units = [
  ['input', 'input', 1e6],
  ['cachedInput', 'input read', 1e6],
  ['cacheWrite', 'input write', 1e6],
  ['cacheWrite1h', 'input write 1h', 1e6],
  ['audioInput', 'input audio', 1e6],
  ['cachedAudioInput', 'input read audio', 1e6],
  ['imageInput', 'input image', 1e6],
  ['cachedImageInput', 'input read image', 1e6],
  ['output', 'output', 1e6],
  ['reasoning', 'output thought', 1e6],
  ['audioOutput', 'output audio', 1e6],
  ['imageOutput', 'output image', 1e6],
  ['millionCharacters', 'characters', 1e6],
  ['minute', 'sound', 60_000],
  ['image', 'images', 1],
  ['webSearch', 'searches', 1],
  ['request', 'requests', 1],
  ['videoSecond', 'videos', 1],
] as const;

type Unit = (typeof units)[number][0];

/** So many units, the first ones, are tokens. */
const tokenUnits = units.findIndex(([name]) => name === 'millionCharacters');

/** USD: of tokens and characters a million, of everything else one. What is absent costs what the whole of it costs. */
export type Rates = Readonly<Partial<Record<Unit, number>>>;

/** Rates of requests whose input is longer than this; those of the tier replace the ones below it, name by name. */
export interface RateTier {
  aboveInputTokens: number;
  rates: Rates;
}

/** When rates hold: from an instant, or between two seconds of every UTC day, over midnight where the second is first. */
export type RatesHold = { fromMs: number } | { fromSecond: number; untilSecond: number };

/** Rates that are charged at some time. */
export interface RatesInForce {
  /** Absent: always. */
  hold?: RatesHold;
  rates: Rates;
  tiers?: readonly RateTier[];
}

/** Nano-USD for one unit each, above some length of input. */
interface CompiledTier {
  aboveInputTokens: number;
  /** Places in `units` that cost something, and what. */
  costing: readonly { at: number; nanoUsd: number }[];
}

interface CompiledRates extends RatesInForce {
  /** The highest first. */
  compiled: readonly CompiledTier[];
}

/** Rates made ready, so that a request costs a few multiplications. The first that hold decide, else the last. */
export interface Price {
  readonly inForce: readonly CompiledRates[];
  /** The least that the service charges for, in ms of sound. */
  readonly audioMsMin: number;
  /** Factor of the prices of tokens, by a word of `Usage.servedAs`. */
  readonly servedAs: Readonly<Record<string, number>>;
  /** Whether the cost that the provider reports counts in the place of these rates. */
  readonly reported: 'counts' | 'ignored';
}

/** `inForce`: the first that hold decide, else the last. */
export function createPrice(
  inForce: readonly RatesInForce[],
  { audioMsMin = 0, servedAs = {}, reported = 'ignored' }: Partial<Omit<Price, 'inForce'>> = {},
): Price {
  return { inForce: inForce.map((one) => ({ ...one, compiled: compiledTiers(one) })), audioMsMin, servedAs, reported };
}

/** The same price, each of its rates times `share`. */
export function priceShare({ inForce, ...further }: Price, share: number): Price {
  const lower = (rates: Rates) =>
    Object.fromEntries(Object.entries(rates).map(([unit, rate]) => [unit, rate * share])) as Rates;
  const parts = inForce.map(({ hold, rates, tiers }) => ({
    ...(hold !== undefined && { hold }),
    rates: lower(rates),
    ...(tiers !== undefined && { tiers: tiers.map((tier) => ({ ...tier, rates: lower(tier.rates) })) }),
  }));
  return createPrice(parts, further);
}

/** Returns the rates at that instant for input of ordinary length. */
export function ratesAt(price: Price, atMs: number): RatesInForce {
  return inForceAt(price, atMs);
}

/**
 * USD of one attempt or request that began at `atMs` of the wall clock; null when its target has no price and no provider
 * said one. Rounded to 1e-9 USD, so that sums over a month do not show binary dust.
 */
export function usdOf(usage: Usage, price: Price | null, atMs: number): number | null {
  const { reportedUsdNano: reported } = usage;
  if (reported !== undefined && price?.reported !== 'ignored') return reported / 1e9;
  if (price === null) return null;
  const { compiled } = inForceAt(price, atMs);
  count(usage, price.audioMsMin);
  const factor = usage.servedAs === undefined ? 1 : factorOf(usage.servedAs, price);
  let sum = 0;
  for (const { aboveInputTokens, costing } of compiled) {
    if (usage.inputTokens <= aboveInputTokens) continue;
    for (const { at, nanoUsd } of costing) sum += (counts[at] ?? 0) * nanoUsd * (at < tokenUnits ? factor : 1);
    break;
  }
  return Math.round(sum) / 1e9;
}

/** Product of the factors of what the provider says. */
function factorOf(words: readonly string[], { servedAs }: Price): number {
  return words.reduce((factor, word) => factor * (Object.hasOwn(servedAs, word) ? (servedAs[word] ?? 1) : 1), 1);
}

/**
 * USD that the provider's cache saved: what the same input would cost without one, less what it costs. Below 0 where
 * writing cost more than reading saved; null when its target has no price.
 */
export function cacheSavedUsd(usage: Usage, price: Price | null, atMs: number): number | null {
  const { reportedUsdNano, ...counted } = usage;
  const { cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, ...parts } = counted;
  const { cachedAudioInputTokens, cachedImageInputTokens, ...uncached } = parts;
  const usd = usdOf(counted, price, atMs);
  return usd === null ? null : Math.round(((usdOf(uncached, price, atMs) ?? 0) - usd) * 1e9) / 1e9;
}

/** The last one holds where no other does. */
function inForceAt({ inForce }: Price, atMs: number): CompiledRates {
  for (const rates of inForce) if (rates === inForce.at(-1) || holds(rates.hold, atMs)) return rates;
  throw new Error('a price has rates');
}

function holds(hold: RatesHold | undefined, atMs: number): boolean {
  if (hold === undefined) return true;
  if ('fromMs' in hold) return atMs >= hold.fromMs;
  const second = (atMs % dayMs) / 1_000;
  const { fromSecond, untilSecond } = hold;
  return untilSecond < fromSecond
    ? second >= fromSecond || second < untilSecond
    : second >= fromSecond && second < untilSecond;
}

/** Counts of one request at a time; the numbers of the last one are written over. */
const counts = new Float64Array(units.length);

/** In the order of `units`. Parts are never more than their whole, whatever an upstream says. */
function count(usage: Usage, audioMsMin: number): void {
  const { inputTokens: input, outputTokens: output } = usage;
  const read = Math.min(usage.cachedInputTokens ?? 0, input);
  const written = Math.min(usage.cacheWriteTokens ?? 0, input - read);
  const sound = Math.min(usage.audioInputTokens ?? 0, input - written);
  const seen = Math.min(usage.imageInputTokens ?? 0, input - written - sound);
  // Where the two parts do not fit side by side, they must overlap.
  const readSound = within(usage.cachedAudioInputTokens ?? 0, read + sound + written - input, Math.min(read, sound));
  const readSeen = within(
    usage.cachedImageInputTokens ?? 0,
    read - readSound + sound + seen + written - input,
    Math.min(read - readSound, seen),
  );
  const audioOutput = Math.min(usage.audioOutputTokens ?? 0, output);
  const drawn = Math.min(usage.imageOutputTokens ?? 0, output - audioOutput);
  counts[0] = input;
  counts[1] = read;
  counts[2] = written;
  counts[3] = Math.min(usage.cacheWrite1hTokens ?? 0, written);
  counts[4] = sound;
  counts[5] = readSound;
  counts[6] = seen;
  counts[7] = readSeen;
  counts[8] = output;
  counts[9] = Math.min(usage.reasoningTokens ?? 0, output - audioOutput - drawn);
  counts[10] = audioOutput;
  counts[11] = drawn;
  counts[12] = usage.characters ?? 0;
  const audioMs = usage.audioMs ?? 0;
  counts[13] = audioMs > 0 ? Math.max(audioMs, audioMsMin) : 0;
  counts[14] = usage.images ?? 0;
  counts[15] = usage.webSearches ?? 0;
  counts[16] = 1;
  counts[17] = usage.videoSeconds ?? 0;
}

function within(value: number, least: number, most: number): number {
  return Math.max(0, least, Math.min(value, most));
}

function compiledTiers({ rates, tiers = [] }: RatesInForce): CompiledTier[] {
  const upwards = [...tiers].sort((a, b) => a.aboveInputTokens - b.aboveInputTokens);
  const all: CompiledTier[] = [{ aboveInputTokens: -1, ...compiledRates(rates) }];
  let reached = rates;
  for (const tier of upwards) {
    reached = { ...reached, ...tier.rates };
    all.unshift({ aboveInputTokens: tier.aboveInputTokens, ...compiledRates(reached) });
  }
  return all;
}

/**
 * A priced unit's rate is for what none of its priced parts is: the sum over all is one number for each unit, which may
 * be negative for a part that is cheaper than its whole.
 */
function compiledRates(rates: Rates): Pick<CompiledTier, 'costing'> {
  const priced = units
    .map(([name, text, per], at) => ({ at, marks: text.split(' '), rate: rates[name], per }))
    .sort((a, b) => b.marks.length - a.marks.length);
  const sums = units.map((_, at) => ({ at, nanoUsd: 0 }));
  /** The rest of each priced unit, which is in none of its priced parts: a factor for each unit's count. */
  const rest: { marks: readonly string[]; factors: readonly number[] }[] = [];
  for (const { at, marks, rate, per } of priced) {
    if (rate === undefined) continue;
    const parts = rest.filter((part) => marks.every((mark) => part.marks.includes(mark)));
    const factors = units.map((_, i) => parts.reduce((left, part) => left - (part.factors[i] ?? 0), Number(i === at)));
    rest.push({ marks, factors });
    for (const sum of sums) sum.nanoUsd += ((factors[sum.at] ?? 0) * rate * 1e9) / per;
  }
  return { costing: sums.filter(({ nanoUsd }) => nanoUsd !== 0) };
}

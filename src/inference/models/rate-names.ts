import type { TargetConfig } from '../../config/schema.ts';
import { createPrice, type Price, type Rates, type RateTier, ratesAt } from '../../formats/neutral/price.ts';

type Unit = keyof Rates;
type PriceConfig = NonNullable<TargetConfig['price']>;
type PriceKey = Exclude<keyof PriceConfig, 'above' | 'served_as'>;

/**
 * Prices by kind: the name in `price` of the configuration, the name in the price list, and how many of the list's
 * units are one of ours.
 */
export const rateNames: readonly (readonly [
  unit: Unit,
  key: PriceKey,
  listed: readonly string[],
  perListed: number,
])[] = [
  ['input', 'input', ['input_mtok'], 1],
  ['output', 'output', ['output_mtok'], 1],
  ['cachedInput', 'cached_input', ['cache_read_mtok'], 1],
  ['cacheWrite', 'cache_write', ['cache_write_mtok'], 1],
  ['cacheWrite1h', 'cache_write_1h', ['cache_write_1h_mtok'], 1],
  ['reasoning', 'reasoning', ['output_reasoning_mtok'], 1],
  ['audioInput', 'audio_input', ['input_audio_mtok'], 1],
  ['cachedAudioInput', 'cached_audio_input', ['cache_audio_read_mtok'], 1],
  ['audioOutput', 'audio_output', ['output_audio_mtok'], 1],
  ['imageInput', 'image_input', ['input_image_mtok'], 1],
  ['cachedImageInput', 'cached_image_input', ['cache_image_read_mtok'], 1],
  ['imageOutput', 'image_output', ['output_image_mtok'], 1],
  ['image', 'image', [], 1],
  ['minute', 'minute', ['input_audio_hours', 'audio_hours'], 60],
  ['millionCharacters', 'million_chars', ['input_mchars'], 1],
  ['webSearch', 'web_search', ['web_searches_kcount'], 1_000],
  ['request', 'request', ['requests_kcount'], 1_000],
  ['videoSecond', 'video_second', [], 1],
];

/**
 * The price as written in `price`; where that says nothing, `usual`, which is null without a price. Factors alone are
 * of `usual`.
 */
export function configuredPrice(written: PriceConfig | undefined, usual: Price | null): Price | null {
  if (written === undefined) return usual;
  const { above = [], served_as: servedAs = {}, ...base } = written;
  if (above.length === 0 && Object.keys(base).length === 0)
    return usual && { ...usual, servedAs: { ...usual.servedAs, ...servedAs } };
  const tiers = above.map(
    ({ input_tokens, ...rates }): RateTier => ({ aboveInputTokens: input_tokens, rates: ratesFrom(rates) }),
  );
  return createPrice([{ rates: ratesFrom(base), tiers }], { servedAs });
}

function ratesFrom(written: Partial<Record<PriceKey, number | undefined>>): Rates {
  return Object.fromEntries(
    rateNames.flatMap(([unit, key]) => (written[key] === undefined ? [] : [[unit, written[key]]])),
  );
}

/** The price at that instant, by the names of the configuration; of a cache's reads always. */
export function shownPrice(price: Price, atMs: number): ShownPrice {
  const { rates, tiers = [] } = ratesAt(price, atMs);
  const { servedAs } = price;
  const factors = Object.keys(servedAs).length > 0 ? { served_as: servedAs } : {};
  const shown = { input: 0, output: 0, cached_input: null, ...keysOf(rates), ...factors };
  if (tiers.length === 0) return shown;
  const above = tiers.map((tier) => ({ input_tokens: tier.aboveInputTokens, ...keysOf(tier.rates) }));
  return { ...shown, above };
}

type ShownPrice = Omit<PriceConfig, 'cached_input'> & { input: number; output: number; cached_input: number | null };

function keysOf(rates: Rates): Partial<Record<PriceKey, number>> {
  return Object.fromEntries(
    rateNames.flatMap(([unit, key]) => (rates[unit] === undefined ? [] : [[key, rates[unit]]])),
  );
}

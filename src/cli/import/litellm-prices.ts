import { type JsonObject, objectIn } from '../../kernel/json.ts';
import type { Path } from './notes.ts';
import { amountOf, numberOf, type Values } from './plain-values.ts';

/** LiteLLM's price, ours, and how many of its units are one of ours. Of two names for one price the first counts. */
const prices = [
  ['input_cost_per_token', 'input', 1e6],
  ['output_cost_per_token', 'output', 1e6],
  ['cache_read_input_token_cost', 'cached_input', 1e6],
  ['cache_creation_input_token_cost', 'cache_write', 1e6],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h', 1e6],
  ['output_cost_per_reasoning_token', 'reasoning', 1e6],
  ['input_cost_per_audio_token', 'audio_input', 1e6],
  ['output_cost_per_audio_token', 'audio_output', 1e6],
  ['input_cost_per_image_token', 'image_input', 1e6],
  ['output_cost_per_image_token', 'image_output', 1e6],
  ['output_cost_per_image', 'image', 1],
  ['output_cost_per_second', 'video_second', 1],
  ['output_cost_per_video_per_second', 'video_second', 1],
  ['input_cost_per_query', 'request', 1],
  ['input_cost_per_image', 'image', 1],
  ['input_cost_per_second', 'minute', 60],
  ['input_cost_per_character', 'million_chars', 1e6],
] as const;

/** A price of tokens that holds above a length of input, for a service tier, or both. */
const conditional = /^(.+?_(?:token|cost|1hr))(?:_above_(\d{1,6})k_tokens)?(?:_(flex|priority))?$/;
const aboveMax = 8;
/** LiteLLM rounds prices, so the factors of a tier differ by less than this part. */
const roundingShare = 0.01;

interface PriceName {
  base: string;
  /** Tokens of input above which it holds. */
  above: number;
  /** Empty: the usual service. */
  tier: string;
}

interface FoundPrice extends PriceName {
  key: string;
  usd: number;
  path: Path;
}

/** Whether it is a price that has a place here; `litellm_params` may have prices, too. */
export function isLiteLlmPrice(name: string): boolean {
  const { base } = priceName(name);
  return prices.some(([one]) => one === base);
}

/** Mapping of factors in `model_info`, by how Anthropic serves a request. */
export const factorsName = 'provider_specific_entry';

/** `price` of a target; empty: there is none. */
export function pricesOf(values: Values, info: JsonObject, params: JsonObject, entry: Path): JsonObject {
  const found = foundPrices(values, info, params, entry);
  const usual = ratesAbove(found, 0);
  const lengths = [...new Set(found.flatMap(({ above, tier }) => (above !== 0 && tier === '' ? [above] : [])))];
  const above = lengths.sort((a, b) => a - b).map((tokens) => ({ input_tokens: tokens, ...ratesAbove(found, tokens) }));
  const factors = { ...tierFactors(values, found), ...writtenFactors(values, info, entry) };
  const isPriced = Object.keys(usual).length > 0;
  if (!isPriced && above.length > 0) {
    const { path } = found.find((one) => one.above > 0) ?? { path: entry };
    values.notes.add(path, 'not carried over: there is no price of shorter input');
  }
  return {
    ...usual,
    ...(isPriced && above.length > 0 && { above: above.slice(0, aboveMax) }),
    ...(Object.keys(factors).length > 0 && { served_as: factors }),
  };
}

function priceName(name: string): PriceName {
  const [, base = name, thousands = '0', tier = ''] = conditional.exec(name) ?? [];
  return { base, above: Number(thousands) * 1_000, tier };
}

function foundPrices(values: Values, info: JsonObject, params: JsonObject, entry: Path): FoundPrice[] {
  const names = Object.keys({ ...params, ...info });
  return prices.flatMap(([base, key, times]) =>
    names.flatMap((name) => {
      const named = priceName(name);
      if (named.base !== base) return [];
      const path = [...entry, info[name] === undefined ? 'litellm_params' : 'model_info', name];
      const amount = amountOf(values, info[name] ?? params[name], path);
      // Twelve digits take away what multiplying by a million leaves of a decimal fraction.
      return amount === null
        ? []
        : [{ ...named, key, path, usd: Math.min(1e6, Number((amount * times).toPrecision(12))) }];
    }),
  );
}

/** Prices of the usual service, by our names. */
function ratesAbove(found: readonly FoundPrice[], tokens: number): Record<string, number> {
  const rates: Record<string, number> = {};
  for (const { key, above, tier, usd } of found) if (above === tokens && tier === '') rates[key] ??= usd;
  return rates;
}

/** Factors of tiers whose prices are the usual ones times one number. */
function tierFactors({ notes }: Values, found: readonly FoundPrice[]): Record<string, number> {
  const factors: Record<string, number> = {};
  for (const tier of new Set(found.map((one) => one.tier))) {
    if (tier === '') continue;
    const priced = found.filter((one) => one.tier === tier);
    const all = priced.map(({ key, above, usd }) => usd / (ratesAbove(found, above)[key] ?? Number.NaN));
    const [first = Number.NaN] = all;
    if (all.every((factor) => Math.abs(factor - first) <= first * roundingShare)) {
      factors[tier] = Number(first.toPrecision(6));
    } else {
      const [{ path } = { path: [] }] = priced;
      notes.add(path, `not carried over: prices of ${tier} are not the usual ones times one factor`);
    }
  }
  return factors;
}

function writtenFactors(values: Values, info: JsonObject, entry: Path): Record<string, number> {
  const path = [...entry, 'model_info', factorsName];
  const written = objectIn(info[factorsName]);
  return Object.fromEntries(
    Object.entries(written).flatMap(([word, value]) => {
      if (!/^(?!__proto__$)[a-z_\d]{1,64}$/.test(word)) {
        values.notes.add([...path, word], 'not carried over: it is no word for how a request is served');
        return [];
      }
      const factor = numberOf(values, value, [...path, word]);
      return factor === null ? [] : [[word, Math.min(1_000, factor)]];
    }),
  );
}

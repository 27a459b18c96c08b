/** USD per million tokens, and for what is counted otherwise. */
export interface TokenPrice {
  input: number;
  output: number;
  /** Null: cached input costs what other input does. */
  cachedInput: number | null;
  /** Absent: nothing beside its tokens. */
  image?: number;
  minute?: number;
  millionCharacters?: number;
}

/** The counts a price applies to; `cachedInputTokens` is part of `inputTokens`. */
export interface PricedUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
  images?: number;
  audioMs?: number;
  characters?: number;
}

/**
 * USD for one attempt or request; null when the target has no price. Rounded to 1e-9 USD, so that sums over a month
 * do not show binary dust. Writing a provider's cache is counted as plain input.
 */
export function usdOf(usage: PricedUsage, price: TokenPrice | null): number | null {
  if (price === null) return null;
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const perMillion =
    (usage.inputTokens - cached) * price.input +
    cached * (price.cachedInput ?? price.input) +
    usage.outputTokens * price.output +
    (usage.characters ?? 0) * (price.millionCharacters ?? 0) +
    1e6 * (usage.images ?? 0) * (price.image ?? 0) +
    1e6 * ((usage.audioMs ?? 0) / 60_000) * (price.minute ?? 0);
  return Math.round(perMillion * 1_000) / 1e9;
}

/** USD per million tokens. `cachedInput` null: cached input costs what other input does. */
export interface TokenPrice {
  input: number;
  output: number;
  cachedInput: number | null;
}

/** The counts a price applies to; `cachedInputTokens` is part of `inputTokens`. */
export interface PricedUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
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
    usage.outputTokens * price.output;
  return Math.round(perMillion * 1_000) / 1e9;
}

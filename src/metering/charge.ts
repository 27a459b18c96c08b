import type { Config } from '../config/schema.ts';
import type { Plan } from './plan.ts';

/** How far a request came: decides what it costs. One of these, by the pipeline, at its very end. */
export type Delivered =
  /** The answer went out whole. */
  | 'whole'
  /** Content went out, then the caller left or the upstream failed. */
  | 'part'
  /** The caller left before any content, while or after an attempt was dispatched. The plan says what that costs. */
  | 'abandoned'
  /** Nothing went out because of an upstream, of us, of bad input, or the caller left before any dispatch. */
  | 'nothing';

/** Counts of one request; absent means not said. Same meaning as the neutral form's usage. */
export interface MeteredUsage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
  reasoningTokens?: number;
  characters?: number;
  audioMs?: number;
  images?: number;
}

/** What the caller pays in the end. */
export interface Charge {
  /** Milli-units kept of the reservation; the rest goes back. */
  costMilli: number;
  usage: MeteredUsage;
  usageSource: UsageOrigin;
}

/** As the neutral form's UsageSource: who says how much was used. */
export type UsageOrigin = 'upstream' | 'counted' | 'estimated' | 'abandoned' | 'none';

/** Instead of it, in the record of a request that was refused before anything was held (metering/refusal). */
export type RefusedSource = 'refused';

const nothingUsed: MeteredUsage = { inputTokens: 0, outputTokens: 0 };
const free: Charge = { costMilli: 0, usage: nothingUsed, usageSource: 'none' };

/**
 * Design §11's rules. `reservedMilli` is kept once content went out and given back before. A caller who leaves early pays
 * what `plan.abandoned` says: the input tokens that were sent on their behalf, from the upstream's figure or else from the
 * estimate; or all as if it had been answered; or nothing.
 */
export function chargeOf(
  delivery: Delivered,
  reservedMilli: number,
  used: { usage: MeteredUsage | null; source: UsageOrigin; inputTokensEstimate: number },
  plan: Pick<Plan, 'abandoned'>,
): Charge {
  switch (delivery === 'abandoned' && plan.abandoned === 'full' ? 'part' : delivery) {
    case 'whole':
    case 'part':
      return used.usage === null
        ? { costMilli: reservedMilli, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: reservedMilli, usage: used.usage, usageSource: used.source };
    case 'abandoned':
      if (plan.abandoned === 'free') return free;
      return used.usage === null
        ? { costMilli: 0, usage: inputOnly(used.inputTokensEstimate), usageSource: 'estimated' }
        : { costMilli: 0, usage: { ...used.usage, outputTokens: 0, reasoningTokens: 0 }, usageSource: used.source };
    case 'nothing':
      return free;
  }
}

function inputOnly(inputTokens: number): MeteredUsage {
  return { inputTokens, outputTokens: 0 };
}

/** Which line of `costs` a call is charged by, or the units that every one costs. */
export type CostLine = keyof Config['costs'] | number;

/**
 * What a call is charged, in milli-units: its line × the model's own cost (1 where no model answers) × `count`, the
 * images of an image call, the pages of a crawl. Attempts, fallbacks and the items of a batch cost nothing more.
 */
export function costMilliOf(costs: Config['costs'], line: CostLine, modelCost = 1, count = 1): number {
  const units = typeof line === 'number' ? line : costs[line];
  return Math.round(units * modelCost * 1_000) * count;
}

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
interface PricedUsage {
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

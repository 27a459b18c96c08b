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

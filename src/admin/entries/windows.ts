import { z } from 'zod';
import { accountScope, keyScope } from '../../books/metering/counter-scope.ts';
import { isUnlimited, readableLimits, readableTierLimits } from '../../books/metering/limits/limit-view.ts';
import { amountOf } from '../../books/metering/limits/quota-message.ts';
import type { KeyLimits, Plan } from '../../books/metering/plan.ts';
import { type SpanName, spans } from '../../books/metering/window.ts';
import { timeField } from '../fields.ts';
import { refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

export const windowSchema = z.object({
  window: z.enum(['minute', '5h', 'week', 'month']).describe('Its rolling window; of a period of the calendar: month.'),
  calendar: z
    .object({ period: z.enum(['day', 'week', 'month']), time_zone: z.string() })
    .nullable()
    .describe('The period of the calendar that it counts; null: a rolling window.'),
  measure: z.enum(['requests', 'units', 'tokens', 'usd']),
  tier: z.string().nullable().describe('Only requests of this tier; null: all requests.'),
  used: z.number(),
  limit: z.number().nullable().describe('Null: unlimited.'),
  remaining: z.number().nullable(),
  soft: z.number().nullable().describe('From so much on requests are warned, and pass; null: never.'),
  frees_at: timeField.nullable().describe('When the next part of it is available again; null: nothing is counted.'),
  frees: z.number().nullable().describe('How much frees then, as far as it is settled; null: not known.'),
});

export type WindowReply = z.output<typeof windowSchema>;

/** Whose use is read: of an account, or of one key where its plan counts by key. */
export interface WindowOwner {
  account: string;
  /** Null: the account's. */
  tenant: string | null;
}

const measures = { calls: 'requests', units: 'units', tokens: 'tokens', usd: 'usd' } as const;

/** Limits to read: of a plan, or of a key, which has none by tier. */
export type LimitsRead = KeyLimits & Partial<Pick<Plan, 'tiers'>>;

/** Every limit, how full it is, and what frees next. */
export async function windowsOf(
  parts: AdminParts,
  plan: LimitsRead,
  { account, tenant }: WindowOwner,
): Promise<WindowReply[]> {
  const counters = runningCounters(parts);
  const { ledger } = parts;
  const scope = (tier: string | null) => (tenant === null ? accountScope(account, tier) : keyScope(tenant, tier));
  const limitsByTier = [
    ...readableLimits(plan, scope(null)).map((limit) => ({ tier: null as string | null, limit })),
    ...[...(plan.tiers ?? [])].flatMap(([tier, limits]) =>
      readableTierLimits(tier, limits, scope(tier)).map((limit) => ({ tier, limit })),
    ),
  ];
  const [states, buckets] = await Promise.all([
    counters.read(
      account,
      limitsByTier.map((one) => one.limit),
    ),
    ledger.buckets([...new Set(limitsByTier.map((one) => one.limit.scope))]),
  ]);
  return limitsByTier.map(({ tier, limit }, at) => {
    const { measure, span, period, allowed, soft, scope: of } = limit;
    const { used, leavesAtMs } = states[at]!;
    const free = leavesAtMs === null || period !== undefined ? null : bucketOf(span, leavesAtMs);
    const bucket =
      free && buckets.find((row) => row.scope === of && row.grainMs === free.grainMs && row.bucket === free.bucket);
    // A period ends as a whole.
    const whole = period === undefined || leavesAtMs === null ? null : used;
    const amount =
      whole ?? (bucket && { calls: null, units: bucket.units, tokens: bucket.tokens, usd: bucket.usdNano }[measure]);
    const unlimited = isUnlimited(limit);
    return {
      window: span,
      calendar: period === undefined ? null : { period: period.name, time_zone: period.zone },
      measure: measures[measure],
      tier,
      used: amountOf(measure, used),
      limit: unlimited ? null : amountOf(measure, allowed),
      remaining: unlimited ? null : amountOf(measure, Math.max(0, allowed - used)),
      soft: soft === undefined ? null : amountOf(measure, soft),
      frees_at: leavesAtMs === null ? null : new Date(leavesAtMs).toISOString(),
      frees: amount === null || amount === undefined ? null : amountOf(measure, amount),
    };
  });
}

/** Counters that know how full limits are. */
export function runningCounters({ counters }: AdminParts): NonNullable<AdminParts['counters']> {
  return (
    counters ??
    refuse({
      kind: 'overloaded',
      message: 'Only a running server knows how full windows are, and none runs here. Start one.',
    })
  );
}

/** The bucket whose end leaves the span at that instant. */
function bucketOf(span: SpanName, leavesAtMs: number): { grainMs: number; bucket: number } {
  const { spanMs, bucketMs } = spans[span];
  return { grainMs: bucketMs, bucket: Math.round((leavesAtMs - spanMs) / bucketMs) - 1 };
}

import type { UsageRow } from './ledger.ts';

/** Usage of a group, as people read it, over HTTP and in exports. */
export function usageRecord(row: UsageRow) {
  return {
    group: row.group,
    ...(row.split !== null && { split: row.split }),
    requests: row.requests,
    units: row.milliUnits / 1_000,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    cost_usd: row.costUsd,
    errors: row.errors,
    counted_tokens: row.countedTokens,
    estimated_tokens: row.estimatedTokens,
    counted_cost_usd: row.countedCostUsd,
    estimated_cost_usd: row.estimatedCostUsd,
    unpriced_requests: row.unpriced,
  };
}

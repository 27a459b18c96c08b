import type { PartMeasure, UsageRow } from '../../books/metering/ledger.ts';
import { added } from '../key-tags.ts';

export const measureOf: Readonly<Record<PartMeasure, (row: UsageRow) => number>> = {
  units: ({ milliUnits }) => milliUnits,
  requests: ({ requests }) => requests,
  tokens: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  cost_usd: ({ costUsd }) => costUsd,
  errors: ({ errors }) => errors,
  unpriced_requests: ({ unpriced }) => unpriced,
};

/**
 * Rows of the `count` parts that have most of a measure over all groups; each group sums its others in one row, its
 * last. Groups stay in their order. A day of a thousand accounts has few rows so, and no part of it is left out.
 */
export function largestParts(rows: readonly UsageRow[], count: number, by: PartMeasure): UsageRow[] {
  const sizeOf = measureOf[by];
  const sizes = new Map<string, number>();
  for (const row of rows) sizes.set(partOf(row), (sizes.get(partOf(row)) ?? 0) + sizeOf(row));
  const bySize = [...sizes].sort(([, a], [, b]) => b - a);
  const largest = new Set(bySize.slice(0, count).map(([part]) => part));
  const groups = new Map<string, { parts: UsageRow[]; others: UsageRow | null }>();
  for (const row of rows) {
    const group = groups.get(row.group) ?? { parts: [], others: null };
    groups.set(row.group, group);
    if (largest.has(partOf(row))) group.parts.push(row);
    else {
      const before = group.others;
      const sum = before === null ? row : added(before, row);
      group.others = { ...sum, split: null, otherParts: sizes.size - largest.size };
    }
  }
  return [...groups.values()].flatMap(({ parts, others }) => (others === null ? parts : [...parts, others]));
}

function partOf({ split }: UsageRow): string {
  return split ?? '';
}
